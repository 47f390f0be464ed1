"""bench.results and bench.bars: rows, their comparisons, and the bars that they reach."""

from __future__ import annotations

import pytest

from bench.bars import IDLE, Relation, bar_of, relation_of
from bench.results import Row, Samples, rows


def _samples(load: str, metric: str, **values: list[float]) -> Samples:
    samples = Samples()
    for target, rounds in values.items():
        for number, value in enumerate(rounds):
            samples.add(load, target.replace("_", "-"), number, {metric: value})
    return samples


def _row(samples: Samples, target: str) -> Row:
    (row,) = [row for row in rows(samples) if row.target == target]
    return row


def test_over_tls_it_is_a_multiple_of_haproxys_over_tls() -> None:
    samples = _samples("bulk fetch", "cpu", haproxy=[1], haproxy_tls=[4], gateway_ids_tls=[6])
    found = {row.target: row.relative for row in rows(samples)}
    assert {name: each.median for name, each in found.items() if each} == {
        "haproxy": 1,
        "haproxy-tls": 1,
        "gateway-ids-tls": 1.5,
    }


def test_cpu_is_a_multiple_of_haproxys_in_the_same_round() -> None:
    samples = _samples("bulk fetch", "cpu", haproxy=[1, 10, 2], gateway_ids=[1.2, 14, 2.5])
    row = _row(samples, "gateway-ids")
    assert row.relation is Relation.TIMES_HAPROXY
    assert row.relative is not None
    assert row.relative.median == pytest.approx(1.25)
    assert (row.value.median, row.judged, row.passed) == (2.5, row.relative.median, True)


@pytest.mark.parametrize(("value", "passed"), [(1.3, True), (1.31, False)])
def test_the_bar_itself_is_good_enough(value: float, passed: bool) -> None:
    samples = _samples("bulk produce", "cpu", haproxy=[1], gateway_ids=[value])
    assert _row(samples, "gateway-ids").passed is passed


def test_latency_is_what_it_is_over_direct() -> None:
    samples = _samples("paced produce", "p50", direct=[100, 300], gateway_names=[180, 420])
    row = _row(samples, "gateway-names")
    assert row.relation is Relation.OVER_DIRECT
    assert (row.judged, row.passed) == (100, True)


def test_a_connection_is_judged_by_itself_and_compared_too() -> None:
    samples = _samples(IDLE, "kib", haproxy=[4], gateway_ids=[11])
    row = _row(samples, "gateway-ids")
    assert row.relative is not None
    assert (row.relative.median, row.judged, row.passed) == (2.75, 11, False)


def test_without_the_other_target_nothing_is_judged() -> None:
    row = _row(_samples("bulk fetch", "cpu", gateway_ids=[1.0]), "gateway-ids")
    assert (row.relative, row.judged, row.passed) == (None, None, None)


def test_peers_and_mere_speed_have_no_bar() -> None:
    assert bar_of("bulk fetch", "kroxylicious", "cpu") is None
    assert bar_of("bulk fetch", "gateway-ids", "rate") is None
    assert relation_of("bulk fetch", "rate") is None


@pytest.mark.parametrize(
    ("load", "metric", "ids", "names"),
    [
        ("bulk produce", "cpu", 1.3, 1.6),
        ("bulk fetch", "cpu", 1.3, 1.6),
        ("pipelined produce", "cpu", 1.8, 1.8),
        ("pipelined fetch", "cpu", 1.8, 1.8),
        ("paced produce", "p50", 100, 100),
        ("paced fetch", "p50", 100, 100),
        ("idle connections", "kib", 10, 10),
        ("after bulk", "rss", 80, 80),
    ],
)
def test_the_bars(load: str, metric: str, ids: float, names: float) -> None:
    for target, limit in (("gateway-ids", ids), ("gateway-names", names)):
        bar = bar_of(load, target, metric)
        assert bar is not None
        assert bar.limit == limit
        assert bar.relative is (metric in ("cpu", "p50"))
