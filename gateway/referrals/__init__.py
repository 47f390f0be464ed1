"""Lookups between the gateways of a tree: queries, their routes, and the remembered responses."""
