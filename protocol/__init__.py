"""Kafka's wire protocol as pure functions over bytes: no I/O, no clock, no namespaces."""
