"""The cluster as a whole: its brokers, and the versions that they serve."""
