"""Several real clusters behind a single gateway."""
