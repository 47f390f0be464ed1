"""Walkers compiled ahead of time, by the digest of their source; empty in the source tree.

The compiled wheel (``devkit/build_backend.py``) replaces this module by a module with the hottest
walkers. ``protocol.walkers`` uses a prebuilt walker only if it would generate the very same source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

Function = Callable[[bytes, int, int, list[tuple[int, int, int, Any]]], int]

PREBUILT: Final[Mapping[str, Mapping[str, Function]]] = MappingProxyType({})
"""Digest of a source -> its functions by name."""
