"""The gateway: names, rules, sessions, connections, and the processes around them."""

from __future__ import annotations

_DISTRIBUTION = "kafka-namespace-gateway"


def version() -> str:
    """The installed version, or ``0+source`` if the gateway runs from a source tree."""
    # Imported here: it takes 0.1 s and some memory, and workers do not need it.
    from importlib import metadata

    try:
        return metadata.version(_DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "0+source"
