"""Boards on their way: compared with a folder or a Grafana, pushed, provisioned."""
