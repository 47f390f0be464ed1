"""The traffic log: flow records, summed up in windows."""
