"""``kafka-gateway topics``: namespaces and topics, through the gateway's wire protocol (KIP-37)."""
