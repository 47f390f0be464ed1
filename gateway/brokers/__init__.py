"""A connection to one broker: TCP, TLS, the gateway's own login, whole messages."""
