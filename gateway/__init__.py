"""The gateway: names, rules, sessions, connections, and the processes around them."""

from __future__ import annotations

from importlib import metadata

_DISTRIBUTION = "kafka-namespace-gateway"


def version() -> str:
    """The installed version, or what says that this is a source tree."""
    try:
        return metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "0+source"
