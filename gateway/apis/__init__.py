"""Handlers: what is done with the requests and responses of each API, one file per API, in a folder
for each of Kafka's domains.

A handler glues the rules to one API's bytes. ``generic`` serves every API that only carries
names; ``table`` finds the declarations and makes the plans.
"""
