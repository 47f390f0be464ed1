"""The number of examples of a property that names a number itself."""

from __future__ import annotations

import os
from typing import Final

from devkit.suite.stages import EXAMPLES, MOST_EXAMPLES

_FEWEST: Final = 5


def examples(count: int) -> int:
    """``count``, or in the gate the same part of it as of the default, :data:`MOST_EXAMPLES`."""
    part = count * int(os.environ.get(EXAMPLES, MOST_EXAMPLES)) // MOST_EXAMPLES
    return max(part, min(count, _FEWEST))
