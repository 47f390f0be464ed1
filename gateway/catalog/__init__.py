"""The catalog: which namespaces exist, their configs, and which topics have another flat name.

``entities`` are the records it holds, ``snapshot`` the immutable state that rules read, ``source``
the interface of the catalog's implementations.
"""
