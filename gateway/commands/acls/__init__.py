"""``kafka-gateway acls``: kafka-acls for topics, namespaces and the rest (KIP-37)."""
