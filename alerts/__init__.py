"""Incidents, pages and what they say."""
