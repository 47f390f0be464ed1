"""``kafka-gateway leave``: what it takes for clients to go on at the brokers, without a gateway."""
