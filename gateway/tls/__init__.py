"""TLS of listeners and to brokers: files, contexts, handshakes, and certificates' principals."""
