"""Hosts as their kernel, the fabric manager and node_exporter tell of them."""
