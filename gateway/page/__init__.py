"""The live page on the HTTP port: its state, its authentication, and its HTTP routes."""
