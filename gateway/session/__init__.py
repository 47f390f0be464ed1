"""A client connection's protocol, without sockets: frames, order, waiting (sans-IO)."""
