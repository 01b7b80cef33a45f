"""Whom an incident is told to: one module a kind of receiver."""
