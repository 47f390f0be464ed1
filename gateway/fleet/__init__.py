"""The fleet: the gateways of a cluster, which clients see among the brokers.

A worker imports this room only if its configuration lists the gateway itself.
"""
