"""Several gateways in front of the same cluster."""
