"""Regular expressions over topic names in RE2's syntax, which a broker reads too (KIP-848).

Matching takes time linear in the name, whatever the expression; its memory is bounded.
"""

from __future__ import annotations

from collections.abc import Iterable

import re2

from protocol.pausing import paced

MAX_PATTERN_BYTES = 32_767
"""The longest string of Kafka's protocol: a broker closes the connection for a longer one."""

MAX_COMPILED_BYTES = 1 << 20
"""A compiled expression that would take more is refused."""


class InvalidTopicRegex(Exception):
    """An expression RE2 cannot read; the text says why."""


class TopicRegex:
    """One compiled expression. Raises InvalidTopicRegex."""

    __slots__ = ("_compiled", "pattern")

    def __init__(self, pattern: str) -> None:
        size = len(pattern.encode())
        if size > MAX_PATTERN_BYTES:
            why = f"it has {size} bytes, and {MAX_PATTERN_BYTES} are allowed"
            raise InvalidTopicRegex(why)
        options = re2.Options()
        options.log_errors = False
        options.max_mem = MAX_COMPILED_BYTES
        try:
            self._compiled = re2.compile(pattern, options=options)
        except (re2.error, UnicodeError) as error:
            raise InvalidTopicRegex(_text(error)) from error
        self.pattern = pattern

    def matching(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names that match as a whole, in their order."""
        return tuple(name for name in paced(names) if self._compiled.fullmatch(name) is not None)


def _text(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
