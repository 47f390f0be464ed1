"""Metrics that clients push (KIP-714): the checks of pushes, OTLP, and what is kept of them."""
