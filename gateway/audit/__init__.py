"""The audit log: what happened, by whom, kept in files or a topic of the cluster."""
