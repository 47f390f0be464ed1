"""Several gateways, each with a cluster of its own, in one tree: live."""
