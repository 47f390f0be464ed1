"""What topics inherit from their namespaces: told by the catalog, and applied at the broker."""
