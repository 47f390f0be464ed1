"""Exit statuses of the command and of its worker processes (64 and up are from sysexits.h)."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""Rejected, or failed on the way; ``check``: the configuration would not work here."""

USAGE: Final = 2
"""The command line cannot be understood (argparse's own)."""

UNAVAILABLE: Final = 69
"""No server responds: a client command found no gateway, an operator's tool no cluster, or a worker
no broker (the worker is started again)."""

CONFIG: Final = 78
"""The configuration is not valid, or an address in it cannot be bound; trying again does not
help."""

INTERRUPTED: Final = 130
"""Ctrl-C, as shells report it (128 + SIGINT)."""
