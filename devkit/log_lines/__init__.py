"""The log lines that operators may meet: docs/operations.md has its table from here."""
