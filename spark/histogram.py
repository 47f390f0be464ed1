"""Latency histograms: merged by adding them up, and the percentiles that can be read off them.

Records of version 2 have four buckets for each power of two: bucket i counts requests of less than
2^(i/4) us and no less than 2^((i-1)/4), bucket 0 those below 1 us, and the last one everything from
2^24 us (16.8 s) up. A percentile is the value at rank ceil(p * n), as if all times were sorted. Its
bucket is known exactly, and inside it the rank says how far from its lower to its upper end, on a
logarithmic scale. So a percentile is right **within 19 %** (:data:`ERROR_FACTOR`), and then rounded
to whole microseconds: the true value and the one that is told lie in one bucket. In the last bucket
only its beginning is told: the true value is at least that.

Records of version 1 have one bucket for each power of two, which is four of these together. What it
counts is spread evenly over the four, so histograms of both versions merge; a percentile whose
bucket has such records in it is right within a factor of two (:data:`EARLIER_ERROR_FACTOR`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

STEPS: Final = 4
"""Buckets for each power of two."""

BUCKETS: Final = 98
"""Buckets of a histogram; the gateway's LATENCY_BUCKETS, which a test compares."""

EARLIER_BUCKETS: Final = 26
"""Entries of a histogram in a record of version 1."""

ERROR_FACTOR: Final = 2 ** (1 / STEPS)
"""A percentile is less than this many times the true value; the true value less than this many
times the percentile, but for rounding."""

EARLIER_ERROR_FACTOR: Final = 2
"""The same where records of version 1 are among those of the percentile's bucket."""

LAST_US: Final = 2**24
"""Where the last bucket begins, in microseconds: what is told of everything in it."""

PERCENTILES: Final = (("p50", 500), ("p95", 950), ("p99", 990), ("p999", 999))
"""Columns, each with its percentile in thousandths."""

_LAST: Final = BUCKETS - 1


def counted(records: DataFrame, keys: Sequence[str], quarters: str, log2: str) -> DataFrame:
    """What the histograms of records have counted, added up by ``keys``: these, and last, width and
    count: so many requests in ``width`` buckets, of which ``last`` is the last one.

    ``quarters`` and ``log2`` are the columns of both versions; what a record lacks is null. Each
    is exploded by itself: functions over arrays would be interpreted, for every record.
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
    # A key that is no number is nothing that a gateway writes.
    return found.where(F.col("last") >= 0)


def _added(exploded: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Each task adds up what it has read before anything is sent."""
    seen = exploded.where(F.col("count") > 0)
    return seen.groupBy(*keys, "bucket").agg(F.sum("count").alias("count"))


def spread(last: Column, width: Column, count: Column) -> Column:
    """Those of :func:`counted` as an array of structs (bucket, count), a bucket each."""
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
    once. What counts nothing has no row.

    Gives the keys, those of :data:`PERCENTILES` in whole microseconds, ``requests`` and ``buckets``
    (an array of all counts).
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
    """A percentile, of the row whose bucket it is in; null of all others."""
    bucket, count, below = F.col("bucket"), F.col("count"), F.col("below")
    rank = F.greatest(F.lit(1), F.floor((F.col("requests") * thousandths + 999) / 1000))
    inside = (rank - below - 0.5) / count
    value = (
        F.when(bucket == 0, F.lit(0))
        .when(bucket == _LAST, F.lit(LAST_US))
        .otherwise(F.round(F.pow(F.lit(2.0), (bucket - 1 + inside) / STEPS)))
    )
    return F.when((below < rank) & (rank <= below + count), value).cast("long")
