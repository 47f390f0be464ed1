"""Code that all domains share: requests and their items, rights, policies, configs, the broker."""
