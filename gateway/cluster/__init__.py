"""What the gateway knows of a backing cluster, and its own questions there."""
