"""Latency histograms: how they are merged, and how percentiles are read off them.

Records of version 2 have four buckets for each power of two: bucket i counts requests of less than
2^(i/4) us and no less than 2^((i-1)/4), bucket 0 requests below 1 us, and the last bucket every
request from 2^24 us (16.8 s) up. A percentile is the value at rank ceil(p * n), as if all times
were sorted. Its bucket is known exactly, and inside the bucket the rank says how far from the lower
to the upper end it is, on a logarithmic scale. So a percentile is right **within 19 %**
(:data:`ERROR_FACTOR`), and then rounded to whole microseconds: the true value and the reported
value lie in the same bucket. If that is the last bucket, the reported value is where it begins: the
true value is at least that.

Records of version 1 have a single bucket for each power of two, which is four buckets of version 2
together. Its count is spread evenly over the four, so histograms of both versions merge; if a
percentile's bucket has such records in it, the percentile is right within a factor of two
(:data:`EARLIER_ERROR_FACTOR`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

STEPS: Final = 4
"""Buckets for each power of two."""

BUCKETS: Final = 98
"""The buckets of a histogram; a test compares this with the gateway's LATENCY_BUCKETS."""

EARLIER_BUCKETS: Final = 26
"""Entries of a histogram in a record of version 1."""

ERROR_FACTOR: Final = 2 ** (1 / STEPS)
"""A percentile is less than this many times the true value, and the true value less than this many
times the percentile, apart from rounding."""

EARLIER_ERROR_FACTOR: Final = 2
"""The same factor if the percentile's bucket has records of version 1 in it."""

LAST_US: Final = 2**24
"""Where the last bucket begins, in microseconds; reported for every time in that bucket."""

PERCENTILES: Final = (("p50", 500), ("p95", 950), ("p99", 990), ("p999", 999))
"""Columns, each with its percentile in thousandths."""

_LAST: Final = BUCKETS - 1


def counted(records: DataFrame, keys: Sequence[str], quarters: str, log2: str) -> DataFrame:
    """The counts of the records' histograms, added up by ``keys``: columns of ``keys``, last, width
    and count, for ``count`` requests in ``width`` buckets of which ``last`` is the last.

    ``quarters`` and ``log2`` are the columns of version 2 and of version 1; the column that a
    record lacks is null. Each is exploded by itself: functions over arrays would be interpreted for
    every record.
    """
    bucket = F.least(F.col("bucket").try_cast("int"), F.lit(_LAST))
    newest = _added(records.select(*keys, F.explode(quarters).alias("bucket", "count")), keys)
    earlier = _added(records.select(*keys, F.posexplode(log2).alias("bucket", "count")), keys)
    is_last = F.col("bucket") >= EARLIER_BUCKETS - 1
    own = F.when(is_last, _LAST).otherwise(F.col("bucket") * STEPS)
    width = F.when(is_last | (F.col("bucket") == 0), 1).otherwise(STEPS)
    found = newest.select(
        *keys, bucket.alias("last"), F.lit(1).alias("width"), "count"
    ).unionByName(earlier.select(*keys, own.alias("last"), width.alias("width"), "count"))
    # No gateway writes a key that is not a number.
    return found.where(F.col("last") >= 0)


def _added(exploded: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The counts by ``keys`` and bucket; each task adds up the rows it has read before it sends
    them."""
    seen = exploded.where(F.col("count") > 0)
    return seen.groupBy(*keys, "bucket").agg(F.sum("count").alias("count"))


def spread(last: Column, width: Column, count: Column) -> Column:
    """Rows of :func:`counted` as an array of structs (bucket, count), a struct for each bucket."""
    place = F.sequence(F.lit(1), width)
    return F.transform(
        place,
        lambda at: F.struct(
            (last - width + at).alias("bucket"),
            (F.floor(count * at / width) - F.floor(count * (at - 1) / width)).alias("count"),
        ),
    )


def percentiles(histograms: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The percentiles of histograms that are rows: ``keys``, ``bucket`` and ``count``, each bucket
    once. A histogram without counts has no row.

    Returns the keys, the columns of :data:`PERCENTILES` in whole microseconds, ``requests`` and
    ``buckets`` (an array of all counts).
    """
    everything = Window.partitionBy(*keys)
    so_far = everything.orderBy("bucket").rowsBetween(Window.unboundedPreceding, 0)
    ranked = (
        histograms.where(F.col("count") > 0)
        .withColumn("below", F.sum("count").over(so_far) - F.col("count"))
        .withColumn("requests", F.sum("count").over(everything))
    )
    counts = F.map_from_entries(F.collect_list(F.struct("bucket", "count")))
    return (
        ranked.groupBy(*keys, "requests")
        .agg(
            *(F.max(_percentile(thousandths)).alias(name) for name, thousandths in PERCENTILES),
            counts.alias("counts"),
        )
        .select(
            *keys,
            *(name for name, _ in PERCENTILES),
            "requests",
            F.transform(
                F.sequence(F.lit(0), F.lit(_LAST)),
                lambda bucket: F.coalesce(F.try_element_at("counts", bucket), F.lit(0)),
            ).alias("buckets"),
        )
    )


def _percentile(thousandths: int) -> Column:
    """A percentile, in the row whose bucket it is in; null in every other row."""
    bucket, count, below = F.col("bucket"), F.col("count"), F.col("below")
    rank = F.greatest(F.lit(1), F.floor((F.col("requests") * thousandths + 999) / 1000))
    inside = (rank - below - 0.5) / count
    value = (
        F.when(bucket == 0, F.lit(0))
        .when(bucket == _LAST, F.lit(LAST_US))
        .otherwise(F.round(F.pow(F.lit(2.0), (bucket - 1 + inside) / STEPS)))
    )
    return F.when((below < rank) & (rank <= below + count), value).cast("long")
