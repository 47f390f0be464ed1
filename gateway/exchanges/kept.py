"""What a handler keeps of a request until its response comes."""

from __future__ import annotations


class Kept:
    """Of one API's request: each API that keeps something has a class of its own."""
