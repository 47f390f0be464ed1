"""Makes text from foreign code and from clients safe to show.

Policy classes and authorizers are not the gateway's code: their texts reach clients, log lines and
audit events, where a control character could forge a line or move a terminal's cursor.
"""

from __future__ import annotations

import re
import traceback
import unicodedata
from collections.abc import Callable
from typing import Final

MAX_SHOWN: Final = 1_000
"""Characters shown of an exception of foreign code."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MAY_HIDE: Final = re.compile(r"[^\x20-\x7e]")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of control and formatting characters, surrogates and line separators."""


def unicode_escaped(text: str) -> str:
    """The text in Python's escapes."""
    return text.encode("unicode_escape").decode()


def one_line(text: str) -> str:
    """The text with every control character as an escape.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return _CONTROL.sub(lambda found: unicode_escaped(found[0]), text)


def shown_text(value: object, most: int) -> str:
    """The text of a value that foreign code has made, safe to show and at most ``most``
    characters long; empty if ``str`` fails.

    Control and formatting characters (ESC, line ends, NUL, right-to-left overrides) and halves of
    surrogate pairs, which UTF-8 cannot carry, are escapes.
    """
    try:
        # Not text[:most], because str() may return an instance of a subclass, with methods of its
        # own.
        plain = str.__getitem__(str(value), slice(most))
    # Also SystemExit: a __str__ may run any code.
    except BaseException:  # noqa: BLE001
        return ""
    return printable(plain)[:most]


def printable(text: str, escaped: Callable[[str], str] = unicode_escaped) -> str:
    """The text with every control and formatting character, and every half of a surrogate pair, as
    an escape, by default in Python's form."""
    return _MAY_HIDE.sub(
        lambda found: escaped(found[0]) if unicodedata.category(found[0]) in _HIDDEN else found[0],
        text,
    )


def raised_text(error: BaseException) -> str:
    """The last line of an exception's traceback, made safe by :func:`shown_text`, or the name of
    its class if that line cannot be made."""
    try:
        line: object = traceback.format_exception_only(error)[-1].strip()
    # traceback reads attributes of the exception, which may be code that raises.
    except BaseException:  # noqa: BLE001
        line = type.__dict__["__name__"].__get__(type(error))
    return shown_text(line, MAX_SHOWN)
