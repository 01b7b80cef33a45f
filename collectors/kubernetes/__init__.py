"""Readers of what Kubernetes tells: pods and their containers, events, training jobs."""
