"""Namespaces: made, deleted, configured. Decisions, and what they need of the broker."""
