"""Authentication: who is on the other side of a connection. Sans-IO where it can be."""
