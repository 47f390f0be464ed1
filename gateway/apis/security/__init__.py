"""Logins, ACLs and credentials."""
