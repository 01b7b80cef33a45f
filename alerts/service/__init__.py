"""The service over HTTP: an API for programs, pages for people, a door for Alertmanager."""
