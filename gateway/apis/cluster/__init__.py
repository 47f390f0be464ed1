"""The cluster as a whole: its brokers, and what they serve."""
