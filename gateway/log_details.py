"""What a log line is about, by name: a format with fields shows them as such."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

_DETAILS: Final = "details"


def details(**named: object) -> Mapping[str, Any]:
    """The ``extra`` of a log line."""
    return {_DETAILS: named}


def details_of(record: logging.LogRecord) -> Mapping[str, object]:
    """What a line is about; empty if its ``extra`` does not say it."""
    found: Mapping[str, object] = getattr(record, _DETAILS, {})
    return found
