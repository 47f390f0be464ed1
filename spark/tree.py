"""The tree: names of several clusters, as the tables of the jobs show them.

Records name topics and namespaces as their cluster does. If clusters are mounted in a tree, the
tables name them from the root: two clusters may have the same name: ``search`` of the cluster at
``la:tracking`` is ``la:tracking:search``.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark.tiers import DELIMITER

COLUMNS: Final = ("cluster", "mount")
"""The columns that :func:`absolute` reads."""

_NAMES: Final = ("namespace", "logical_topic", "topic")
_OTHER: Final = "(other)"


def absolute(records: DataFrame) -> DataFrame:
    """The records with ``namespace``, ``logical_topic`` and ``topic`` from the root of the tree, if
    they have these columns, and with ``cluster`` only if a name is not null.

    If a gateway has no tree, or wrote the record before it had a tree, the record has no mount: its
    names stay as they are, and its ``cluster`` is null.
    """
    mounted = F.col("mount").isNotNull()
    names = [name for name in _NAMES if name in records.columns]
    named = F.coalesce(*(F.col(name) for name in names))
    found: dict[str, Column] = {
        name: F.when(mounted, _joined(F.col(name))).otherwise(F.col(name)) for name in names
    }
    # All new columns see the names as they were.
    return records.withColumns(
        {**found, "cluster": F.when(mounted & named.isNotNull(), F.col("cluster"))}
    )


def _joined(name: Column) -> Column:
    mount = F.col("mount")
    return (
        F.when((name == "") | name.isNull(), F.when(name.isNotNull(), mount))
        .when((mount == "") | (name == _OTHER), name)
        .otherwise(F.concat(mount, F.lit(DELIMITER), name))
    )
