"""Transactions, and the producers that may begin them."""
