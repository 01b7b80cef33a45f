"""The commands of `paceline slo`, one a module."""
