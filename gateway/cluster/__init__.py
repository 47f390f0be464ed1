"""The state of a backing cluster, and the gateway's own requests to it."""
