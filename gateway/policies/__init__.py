"""Policies: which topics may be created and changed (KIP-108), and how written (KIP-679)."""
