"""The base class of per-request state. It has a module of its own because ``exchange`` is compiled,
and an interpreted class cannot inherit from a compiled class."""

from __future__ import annotations


class Kept:
    """The state of one request until its response arrives. Each API with such state has a subclass
    of its own."""
