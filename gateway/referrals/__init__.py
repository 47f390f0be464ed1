"""Lookups that travel between the gateways of a tree: questions, ways, and what is remembered."""
