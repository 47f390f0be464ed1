"""Exit statuses of the command and of its worker processes (64 and up are sysexits.h's)."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""Refused, or something went wrong on the way; ``check``: it would not work here."""

USAGE: Final = 2
"""The command line cannot be understood (argparse's own)."""

UNAVAILABLE: Final = 69
"""Nobody answers: a client command found no gateway, an operator's tool no cluster, a worker no
broker (it is started again)."""

CONFIG: Final = 78
"""The configuration is refused, or an address in it cannot be bound: trying again is no use."""

INTERRUPTED: Final = 130
"""Ctrl-C, as shells tell it (128 + SIGINT)."""
