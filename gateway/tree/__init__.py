"""The tree: several clusters, and those of other gateways, as one space of names.

A worker imports this room only if its configuration mounts clusters.
"""
