"""The details of a log line, by name, which a format with fields shows as fields."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

_DETAILS: Final = "details"


def details(**named: object) -> Mapping[str, Any]:
    """The ``extra`` argument of a log call, with these details."""
    return {_DETAILS: named}


def details_of(record: logging.LogRecord) -> Mapping[str, object]:
    """The details of a line; empty for a line without ``extra``."""
    found: Mapping[str, object] = getattr(record, _DETAILS, {})
    return found
