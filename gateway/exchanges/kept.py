"""The base class of per-request state. It has a module of its own because ``exchange`` is compiled,
and an interpreted class cannot inherit from a compiled one."""

from __future__ import annotations


class Kept:
    """What a handler keeps of a request until its response comes: a class of each API's own."""
