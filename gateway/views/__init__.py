"""The view of one client: names, their spelling, access."""
