"""``kafka-gateway init``: writes a commented configuration for brokers that are already running."""
