"""Connections: sockets and the event loop."""
