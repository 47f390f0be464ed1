"""TLS of listeners and to brokers: files, contexts, handshakes, and whom certificates name."""
