"""Policies: what may be created and changed (KIP-108), and how it may be written (KIP-679)."""
