"""Text from code and clients that are not the gateway's, made safe to show.

Policy classes and authorizers are other people's code: their texts reach clients, log lines and
audit events, where a control character could forge a line or move a terminal's cursor.
"""

from __future__ import annotations

import re
import traceback
import unicodedata
from typing import Final

MAX_SHOWN: Final = 1_000
"""Characters shown of an exception of foreign code."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_MAY_HIDE: Final = re.compile(r"[^\x20-\x7e]")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories of control and formatting characters, surrogates and line separators."""


def one_line(text: str) -> str:
    """The text with every control character as an escape.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return _CONTROL.sub(_escaped, text)


def shown_text(value: object, most: int) -> str:
    """The text of a value that foreign code has made, safe to show and at most ``most``
    characters long; empty if ``str`` fails.

    Control and formatting characters (ESC, line ends, NUL, right-to-left overrides) and halves of
    surrogate pairs, which UTF-8 cannot carry, are escapes.
    """
    try:
        # Not text[:most]: str() may return an instance of a subclass, whose methods are not ours.
        plain = str.__getitem__(str(value), slice(most))
    # SystemExit as well: a __str__ is code like any other.
    except BaseException:  # noqa: BLE001
        return ""
    return _MAY_HIDE.sub(_escaped_if_hidden, plain)[:most]


def raised_text(error: BaseException) -> str:
    """The last line of an exception's traceback, as :func:`shown_text`; the name of its class alone
    if that line cannot be made."""
    try:
        line: object = traceback.format_exception_only(error)[-1].strip()
    # traceback reads attributes of the exception, and those may be code that raises.
    except BaseException:  # noqa: BLE001
        line = type.__dict__["__name__"].__get__(type(error))
    return shown_text(line, MAX_SHOWN)


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def _escaped_if_hidden(found: re.Match[str]) -> str:
    return _escaped(found) if unicodedata.category(found[0]) in _HIDDEN else found[0]
