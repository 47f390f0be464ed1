"""Configurations and exports that are almost valid, given to the commands that read them."""
