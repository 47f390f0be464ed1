"""Percentiles of latency histograms, as the page shows them."""

from __future__ import annotations

from gateway.flows import LATENCY_STEPS
from gateway.page.observed import Buckets


def quantile(buckets: Buckets, share: float, steps: int = LATENCY_STEPS) -> float | None:
    """An estimate of the microseconds that ``share`` of the requests did not exceed; None for an
    empty histogram. Values are taken to be spread evenly within a bucket, on its scale. ``steps``
    are the buckets per power of two.

    >>> quantile({41: 1}, 1.0) == 2 ** (41 / 4)
    True
    """
    total = sum(buckets.values())
    if not total:
        return None
    wanted = share * total
    below = 0
    for number in sorted(buckets):
        count = buckets[number]
        if below + count >= wanted:
            within = (wanted - below) / count
            return float(2 ** ((number - 1 + within) / steps)) if number else 1.0
        below += count
    return float(2 ** (max(buckets) / steps))


def quantiles(buckets: Buckets, steps: int = LATENCY_STEPS) -> list[float | None]:
    """The median and the 99th percentile, in microseconds."""
    found = (quantile(buckets, share, steps) for share in (0.5, 0.99))
    return [None if each is None else round(each, 1) for each in found]
