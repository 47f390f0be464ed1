"""Changes: what the gateway does itself for admin clients, over connections of its own.

A folder for each domain, and in it one file per API or background job. Each decides on the
catalog's newest snapshot, asks the broker where the broker has to agree, and commits to the
catalog. Bodies come and go in the client's names.
"""
