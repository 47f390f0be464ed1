"""Authentication: clients prove their principals. Sans-IO where possible."""
