"""Producing and fetching, producer ids, and offsets and records of partitions."""
