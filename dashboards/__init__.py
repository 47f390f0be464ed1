"""Grafana dashboards of the gateway, as code, with the JSON that it makes beside it."""
