"""The commands of `paceline dashboards`, one a module."""
