"""Topics and namespaces: listed, created, deleted."""
