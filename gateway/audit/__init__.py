"""The audit log: denials, failed logins, revocations and changes, kept in files or a topic."""
