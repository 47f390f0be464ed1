"""Lengths of time on the command line."""

from __future__ import annotations

import argparse
import math
from typing import Final

LATE_AFTER: Final = 86_400.0
"""How many seconds behind the newest record one is late, unless another number is given."""


def duration(text: str) -> float:
    """A number of seconds or hours, 0 or more. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: no number") from error
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: has to be 0 or more")
    return number
