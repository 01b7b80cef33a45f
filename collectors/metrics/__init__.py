"""Metric series from pages, archives, answers and a live Prometheus."""
