"""Where records go, of the traffic log and the audit log: rolling files, topics."""
