"""``make bench-quick``: what it makes of rounds, and that its loads pass this tree."""

from __future__ import annotations

import json

import pytest

from bench import quick
from bench.quick import QuickBenchError, Side, rows_of, table
from devkit.paths import PROJECT_ROOT


@pytest.mark.parametrize(
    ("now", "verdict"), [(10.0, ""), (10.4, ""), (11.0, "slower"), (9.0, "faster")]
)
def test_only_more_than_the_noise_counts(now: float, verdict: str) -> None:
    before = [{"Produce": 10.0}, {"Produce": 20.0}, {"Produce": 10.0}]
    again = [{"Produce": 10.5}, {"Produce": 19.0}, {"Produce": 10.0}]
    changed = [{"Produce": now}, {"Produce": now * 2}, {"Produce": now}]
    (row,) = rows_of(changed, before, again)
    assert row.ratio == pytest.approx(now / 10)
    assert row.noise == (0.95, 1.05)
    assert row.verdict == verdict
    assert table([row], "main").splitlines()[1].endswith(verdict or "1.050")


def test_every_load_passes_this_tree() -> None:
    """Each request is forwarded and each response restored, which the load itself checks."""
    side = Side(PROJECT_ROOT)
    try:
        first, second = side.round(), side.round()
    finally:
        side.close()
    assert first.keys() == second.keys()
    assert len(first) == 8
    assert all(microseconds > 0 for microseconds in first.values())


def test_a_revision_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert quick.main(["no-such-revision"]) == 1
    assert "no-such-revision" in capsys.readouterr().err


@pytest.mark.long("measures")
def test_the_revision_beside_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert quick.main(["HEAD", "--rounds", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 8


def test_a_side_that_ends() -> None:
    with pytest.raises(QuickBenchError):
        Side(PROJECT_ROOT / "docs")
