"""What all domains share: the context, requests and their items, rights, and the broker."""
