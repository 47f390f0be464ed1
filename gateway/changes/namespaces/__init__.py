"""Namespaces: created, deleted, configured. Decisions, and their queries to the broker."""
