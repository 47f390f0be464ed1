"""The tiers of the namespace tree, as the tables of the jobs name them.

What happens in ``org:apache`` counts for ``org:apache``, for ``org`` and for everything. What is no
namespace path has a label in parentheses, which no path can have; the metrics use the same ones.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

DELIMITER: Final = ":"

ALL: Final = "(all)"
"""Everything: all namespaces, and requests that name no topic."""

DEFAULT: Final = "(default)"
"""The default namespace, which has no tiers."""

NONE: Final = "(none)"
"""Requests that name no topic."""


def label(namespace: Column) -> Column:
    """The namespace of a record as the tables show it: the path, ``(default)`` or ``(none)``."""
    return F.when(namespace.isNull(), NONE).when(namespace == "", DEFAULT).otherwise(namespace)


def tiers(namespace: Column) -> Column:
    """An array of all that a record's namespace counts for, the outermost first.

    ``org:apache`` gives ``(all)``, ``org``, ``org:apache``; the default namespace ``(all)``,
    ``(default)``; null ``(all)``, ``(none)``.
    """
    parts = F.split(namespace, DELIMITER)
    paths = F.transform(
        F.sequence(F.lit(1), F.size(parts)),
        lambda count: F.array_join(F.slice(parts, 1, count), DELIMITER),
    )
    everything = F.array(F.lit(ALL))
    return (
        F.when(namespace.isNull(), F.array(F.lit(ALL), F.lit(NONE)))
        .when(namespace == "", F.array(F.lit(ALL), F.lit(DEFAULT)))
        .otherwise(F.concat(everything, paths))
    )


def depth(tier: Column) -> Column:
    """How many tiers a path has; 1 for ``(default)`` and ``(none)``, 0 for ``(all)``.

    Tiers hold each other, so sums are made over those of one depth.
    """
    return F.when(tier == ALL, 0).otherwise(F.size(F.split(tier, DELIMITER)))


def parent(tier: Column) -> Column:
    """The tier above one, below :data:`ALL`; null if there is none."""
    parts = F.split(tier, DELIMITER)
    above = F.array_join(F.slice(parts, 1, F.size(parts) - 1), DELIMITER)
    return F.when(above != "", above)
