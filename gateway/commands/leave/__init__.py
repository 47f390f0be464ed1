"""``kafka-gateway leave``: plans how clients go on at the brokers, without a gateway."""
