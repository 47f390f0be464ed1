"""Sinks for the records of the traffic log and the audit log: rolling files, topics."""
