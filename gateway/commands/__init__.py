"""The subcommands of ``kafka-gateway`` that administrate: topics, configs, catalog, explain and
policies.

``topics`` and ``configs`` are clients of the gateway's wire protocol and know nothing else;
``catalog`` and ``explain`` are operators' tools that read the cluster behind it. ``policies`` asks
nobody.
"""
