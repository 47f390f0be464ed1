"""Several gateways in front of one cluster."""
