"""The catalog: which namespaces exist, their configs, and which topics are stored elsewhere.

``entities`` are what it holds, ``snapshot`` the immutable state that rules read, ``source`` the
interface of whatever keeps it.
"""
