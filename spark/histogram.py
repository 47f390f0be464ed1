"""Latency histograms: merged by adding them up, and the percentiles that can be read off them.

Bucket 0 counts requests below 1 us, bucket i those from 2^(i-1) up to 2^i us, and the last one
everything from 2^24 us (16.8 s) up. A percentile is the value at rank ceil(p * n), as if all
times were sorted. Its bucket is known exactly, and inside it the rank says how far from its lower
to its upper end, on a logarithmic scale. So a percentile is right **within a factor of**
:data:`ERROR_FACTOR`: the true value and the one that is told lie in one bucket, whose ends are
that far apart. In the last bucket only its beginning is told: the true value is at least that.

Sums are made bucket by bucket in fixed-width aggregation buffers, so each task combines what it has
read before anything is sent: a namespace with most of the records costs no task more than others.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

BUCKETS: Final = 26
"""Entries of a histogram; the gateway's LATENCY_BUCKETS, which a test compares."""

ERROR_FACTOR: Final = 2
"""A percentile is less than this many times the true value; the true value less than this many
times the percentile."""

LAST_US: Final = 2 ** (BUCKETS - 2)
"""Where the last bucket begins, in microseconds: what is told of everything in it."""

PERCENTILES: Final = (("p50", 500), ("p95", 950), ("p99", 990), ("p999", 999))
"""Columns, each with its percentile in thousandths."""


def bucket_sums(column: str) -> list[Column]:
    """Aggregates that add up a column of histograms, bucket by bucket; see :func:`gathered`.

    A bucket that a record lacks is 0.
    """
    return [
        F.coalesce(F.sum(F.get(F.col(column), F.lit(bucket))), F.lit(0)).alias(
            _name(column, bucket)
        )
        for bucket in range(BUCKETS)
    ]


def gathered(column: str) -> Column:
    """The columns that :func:`bucket_sums` gave, as one array again."""
    return F.array(*(F.col(_name(column, bucket)) for bucket in range(BUCKETS)))


def added(column: str) -> list[Column]:
    """Aggregates that add up once more what :func:`bucket_sums` gave, under the same names."""
    names = [_name(column, bucket) for bucket in range(BUCKETS)]
    return [F.sum(name).alias(name) for name in names]


def total(buckets: Column) -> Column:
    """How many requests a histogram counts."""
    return F.aggregate(buckets, F.lit(0).cast("long"), lambda before, count: before + count)


def percentile(buckets: Column, thousandths: int) -> Column:
    """A percentile of a histogram in whole microseconds (long); null where it counts nothing."""
    count = total(buckets)
    rank = F.greatest(F.lit(1).cast("long"), F.floor((count * thousandths + 999) / 1000))
    cumulative = F.transform(
        F.sequence(F.lit(1), F.lit(BUCKETS)), lambda number: total(F.slice(buckets, 1, number))
    )
    index = F.size(F.filter(cumulative, lambda below: below < rank))
    below = F.coalesce(F.get(cumulative, index - 1), F.lit(0))
    inside = (rank - below - 0.5) / F.get(buckets, index)
    value = (
        F.when(index == 0, F.lit(0))
        .when(index >= BUCKETS - 1, F.lit(LAST_US))
        .otherwise(F.floor(F.pow(F.lit(2.0), index - 1 + inside)))
    )
    return F.when(count > 0, value).cast("long")


def _name(column: str, bucket: int) -> str:
    return f"{column}_{bucket}"
