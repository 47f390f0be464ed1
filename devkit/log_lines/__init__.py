"""The log lines that operators may see; docs/operations.md has its table from here."""
