"""What the loads are put on: the broker itself, its proxies, and the gateway."""
