"""Exit statuses of the command and of its worker processes (64 and up are sysexits.h's)."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""Something went wrong on the way; for ``check``: the configuration would not work here."""

USAGE: Final = 2
"""The command line cannot be understood (argparse's own)."""

UNAVAILABLE: Final = 69
"""A worker found no broker; it is started again."""

CONFIG: Final = 78
"""The configuration is refused, or an address in it cannot be bound: trying again is no use."""
