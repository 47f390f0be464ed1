"""The catalog: which namespaces exist and which topics are stored under another name.

``snapshot`` is the immutable state that rules read, ``source`` where snapshots come from.
"""
