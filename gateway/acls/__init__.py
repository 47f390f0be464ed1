"""Access control lists: Kafka's model, and namespaces before it. Pure; no I/O."""
