"""Handlers: what is done with the requests and responses of each API, one file per family.

A handler glues the rules to one API's bytes. ``generic`` serves every API that only carries
names; ``table`` says which APIs have more to them.
"""
