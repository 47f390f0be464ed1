"""``kafka-gateway adopt``: carries groups' committed offsets into a home."""
