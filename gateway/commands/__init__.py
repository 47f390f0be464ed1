"""The subcommands of ``kafka-gateway`` for administration.

``topics``, ``configs``, ``acls`` and ``adopt`` are clients of the gateway's wire protocol and use
nothing else; ``catalog`` and ``explain`` are operators' tools that read the cluster behind it.
"""
