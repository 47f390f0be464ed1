"""Requests and responses in progress, and the state that a connection holds between them."""
