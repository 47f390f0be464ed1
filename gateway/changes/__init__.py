"""Changes: admin requests that the gateway executes itself, over its own connections.

A folder for each domain, and in it a file for each API or group of background jobs. Each decides on
the catalog's newest snapshot, queries the broker where it has to agree, and commits to the catalog.
Bodies are in the client's names, in and out.
"""
