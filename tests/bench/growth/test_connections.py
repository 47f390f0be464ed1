"""bench.growth.connections: how many there may be, and real gateways with few of them."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from bench.growth.connections import FIGURES, allow_open_files, measure, possible
from bench.growth.plan import Plan


@pytest.mark.parametrize(
    ("most", "sizes"),
    [
        (20_000, [100, 1_000, 10_000]),
        (10_000, [100, 1_000, 10_000]),
        (9_850, [100, 1_000, 9_850]),
        # 1,000 would be too close to be compared with.
        (1_200, [100, 1_200]),
        (50, [50]),
    ],
)
def test_sizes_end_at_what_is_possible(most: int, sizes: list[int]) -> None:
    assert possible([100, 1_000, 10_000], most) == sizes


@pytest.fixture
def limits() -> Iterator[tuple[int, int]]:
    """The limits of open files, which the test may change."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_the_soft_limit_is_raised(limits: tuple[int, int]) -> None:
    _, hard = limits
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    most = allow_open_files(300)
    assert most >= 300
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == most


@pytest.mark.live
@pytest.mark.long("measures")
def test_connections_are_measured() -> None:
    said: list[str] = []
    sweep = measure(Plan([20, 60], 0.2, 60.0, compiled=False), said.append)
    assert (sweep.sizes, sweep.notes) == ([20, 60], [])
    assert [curve.figure for curve in sweep.curves] == list(FIGURES)
    for curve in sweep.curves:
        assert list(curve.values) == [20, 60]
        if curve.figure.unit != "KiB":  # so few may fit into what was free
            assert all(value > 0 for value in curve.values.values())
    assert "60 connections" in said
