"""Objectives, burn rates, budgets and the Prometheus rules made from them."""
