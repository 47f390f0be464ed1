"""Several gateways, each with a cluster of its own, in the same tree: live."""
