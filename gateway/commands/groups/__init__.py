"""``kafka-gateway adopt``: groups and their committed offsets, carried into a home."""
