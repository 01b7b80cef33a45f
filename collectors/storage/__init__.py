"""The store, and what takes files and a Prometheus into it, each row once."""
