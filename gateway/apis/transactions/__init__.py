"""Transactions, and the state of their producers."""
