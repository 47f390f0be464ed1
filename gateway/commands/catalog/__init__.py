"""``kafka-gateway catalog``: export, import and upkeep of what the gateways of a cluster share."""
