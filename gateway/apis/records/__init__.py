"""Producing and fetching, and what else asks for records and offsets of partitions."""
