"""deploy/ and Containerfile: what can be checked without a container engine or a cluster."""
