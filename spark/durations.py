"""Lengths of time on the command line."""

from __future__ import annotations

import argparse
import math


def duration(text: str) -> float:
    """A number of seconds or hours, 0 or more. Raises ArgumentTypeError."""
    try:
        number = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: no number") from error
    if not 0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text}: has to be 0 or more")
    return number
