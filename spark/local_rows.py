"""Makes a DataFrame of a few rows of the driver, without Python processes on executors.

``createDataFrame`` starts a Python process for each task that reads the rows, so executors would
need a Python of the driver's version.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType


def local_rows(
    spark: SparkSession, structure: StructType | str, rows: Iterable[Mapping[str, Any]] = ()
) -> DataFrame:
    """The rows, as values by column; ``structure`` may be ``name string, count bigint``.

    Values are of JSON's types; every column may be null.
    """
    wanted = f"array<struct<{structure}>>" if isinstance(structure, str) else ArrayType(structure)
    parsed = F.from_json(F.lit(json.dumps(list(rows))), wanted)
    return spark.range(0, 1, 1, 1).select(F.inline(parsed))
