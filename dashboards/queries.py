"""PromQL of the panels, in parts: selectors, rates, sums, quantiles.

Every selector has the variables ``$job`` and ``$instance``, so that one Prometheus can have several
fleets of gateways. Rates are over ``$__rate_interval``, which Grafana makes of the scrape interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

PREFIX: Final = "kafka_gateway_"
PUSHED: Final = "kafka_client_"
OF_GATEWAYS: Final = 'job=~"$job",instance=~"$instance"'
SPAN: Final = "$__rate_interval"

NOT_WAITING: Final = 'api!~"Fetch|JoinGroup|SyncGroup"'
"""Requests that do not wait at the broker because clients want them to, for records or members."""

A_LITTLE: Final = 0.1
"""Requests, or lookups, a second below which ratios are not shown."""


def state(metric: str, *matchers: str) -> str:
    """A gauge as it is: ``metric`` without the prefix, further label matchers."""
    return f"{PREFIX}{metric}{{{','.join([OF_GATEWAYS, *matchers])}}}"


def pushed(metric: str, *matchers: str) -> str:
    """A gauge that clients push (docs/client-metrics.md): ``metric`` without the prefix. It comes
    from a job of its own."""
    return f"{PUSHED}{metric}{{{','.join(matchers)}}}"


def rate(metric: str, *matchers: str) -> str:
    """How much a counter grows a second."""
    return f"rate({state(metric, *matchers)}[{SPAN}])"


def growth(metric: str, *matchers: str) -> str:
    """By how much a counter grew in the time that the dashboard shows: one number, no curve."""
    return f"increase({state(metric, *matchers)}[$__range])"


def total(expression: str, *labels: str) -> str:
    """The sum, one for each combination of these labels."""
    return _over("sum", expression, labels)


def lowest(expression: str, *labels: str) -> str:
    """The minimum, one for each combination of these labels."""
    return _over("min", expression, labels)


def highest(expression: str, *labels: str) -> str:
    """The maximum, one for each combination of these labels."""
    return _over("max", expression, labels)


def of_clusters(metric: str) -> str:
    """The sum over clusters of a gauge that every gateway of a cluster reports, as far as it knows;
    without a tree the gateways of a job share one cluster."""
    return total(highest(state(metric), "job", "cluster"))


def ratio(part: str, whole: str, least: float) -> str:
    """A part of something, while there is at least so much of it: of little a share says little."""
    return f"{part} / ({whole} >= {least:g})"


def largest(count: int, expression: str) -> str:
    """The so many largest series at each point in time."""
    return f"topk({count}, {expression})"


def quantile(share: float, histogram: str, *labels: str, matchers: Sequence[str] = ()) -> str:
    """The time within which this share of the requests was done, in seconds."""
    buckets = total(rate(f"{histogram}_bucket", *matchers), "le", *labels)
    return f"histogram_quantile({share:g}, {buckets})"


def mean(histogram: str, *matchers: str) -> str:
    """The average of a histogram, in seconds."""
    sums = total(rate(f"{histogram}_sum", *matchers))
    return ratio(sums, total(rate(f"{histogram}_count", *matchers)), A_LITTLE)


def _over(function: str, expression: str, labels: tuple[str, ...]) -> str:
    by = f" by ({', '.join(labels)})" if labels else ""
    return f"{function}{by} ({expression})"
