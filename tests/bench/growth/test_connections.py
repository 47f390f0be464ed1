"""bench.growth.connections: how many there may be, and real gateways with few of them."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from bench.generators import GeneratorError
from bench.growth import connections
from bench.growth.connections import FIGURES, allow_open_files, measure, possible
from bench.growth.curves import Values
from bench.growth.plan import Plan
from bench.subject import Subject


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
def test_a_size_that_fails_ends_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway and clients that are real; the second size has a load that fails."""
    real = connections._point

    def point(subject: Subject, size: int, plan: Plan) -> Values:
        if size == 40:
            raise GeneratorError("crowd on port 1: a connection ended after 0 responses")
        return real(subject, size, plan)

    monkeypatch.setattr(connections, "_point", point)
    said: list[str] = []
    sweep = measure(Plan([20, 40, 80], 0.2, 60.0, compiled=False), said.append)
    assert sweep.sizes == [20]
    (note,) = sweep.notes
    assert note.startswith("40 connections were not served to the end: crowd on port 1")
    assert "ready: bench at" in "".join(said)


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
