"""Dashboards as code: recipes, normaliser, lint and the boards."""
