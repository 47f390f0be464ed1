"""Access control lists: Kafka's model, and checks of namespaces before it. Pure; no I/O."""
