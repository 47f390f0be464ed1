"""``kafka-gateway catalog``: export, import and upkeep of the catalog that a
cluster's gateways share."""
