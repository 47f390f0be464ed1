"""A client connection's protocol, without sockets: frames, their order, and waiting (sans-IO)."""
