"""The tiers of the namespace tree, as the tables of the jobs name them.

Traffic of ``org:apache`` counts for ``org:apache``, for ``org`` and for ``(all)``. A label that is
not a namespace path is in parentheses, because no path can have them; the metrics use the same
labels.
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
    """An array of every tier that a record's namespace counts for, the outermost first.

    ``org:apache`` gives ``(all)``, ``org``, ``org:apache``; the default namespace ``(all)``,
    ``(default)``; null ``(all)``, ``(none)``.
    """
    # F.substring_index takes no column as its last argument.
    paths = F.transform(
        F.sequence(F.lit(1), F.size(F.split(namespace, DELIMITER))),
        lambda count: F.call_function("substring_index", namespace, F.lit(DELIMITER), count),
    )
    everything = F.array(F.lit(ALL))
    return (
        F.when(namespace.isNull(), F.array(F.lit(ALL), F.lit(NONE)))
        .when(namespace == "", F.array(F.lit(ALL), F.lit(DEFAULT)))
        .otherwise(F.concat(everything, paths))
    )


def depth(tier: Column) -> Column:
    """The number of tiers of a path; 1 for ``(default)`` and ``(none)``, 0 for ``(all)``.

    Tiers include each other, so only the tiers of the same depth may be added up.
    """
    return F.when(tier == ALL, 0).otherwise(F.size(F.split(tier, DELIMITER)))


def parent(tier: Column) -> Column:
    """The tier above ``tier`` and below :data:`ALL`, or null if there is none."""
    parts = F.split(tier, DELIMITER)
    above = F.array_join(F.slice(parts, 1, F.size(parts) - 1), DELIMITER)
    return F.when(above != "", above)
