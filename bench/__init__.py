"""What the gateway costs, measured beside its peers: ``python -m bench``."""
