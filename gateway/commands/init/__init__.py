"""``kafka-gateway init``: a commented configuration for brokers that are there."""
