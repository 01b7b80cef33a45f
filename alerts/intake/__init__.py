"""What Alertmanager tells us: an inbox, its worker, and what Prometheus' alerts mean."""
