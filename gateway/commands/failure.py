"""How a command fails: one sentence for standard error, and an exit status."""

from __future__ import annotations

from gateway import exit_codes


class CommandError(Exception):
    """The command cannot do what it was asked to; the text says what and what to do next.

    Several lines are several sentences. ``status`` is the exit status that goes with it.
    """

    status = exit_codes.FAILED


class UsageError(CommandError):
    """Flags that do not go together, or a value that cannot be read."""

    status = exit_codes.USAGE


class Unavailable(CommandError):
    """Nobody answers at the given addresses, or not in time."""

    status = exit_codes.UNAVAILABLE
