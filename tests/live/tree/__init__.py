"""Several real clusters behind one gateway."""
