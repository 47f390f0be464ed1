"""The base class of per-request state. It has a module of its own because ``exchange`` is compiled,
and an interpreted class cannot inherit from a compiled one."""

from __future__ import annotations


class Kept:
    """The state of one request until its response comes: each API that keeps some has a class of
    its own."""
