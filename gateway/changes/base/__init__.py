"""What all domains share: requests and their items, rights, policies, configs, and the broker."""
