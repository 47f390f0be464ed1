"""``make bench-quick``: what it makes of rounds, and that its loads pass this tree."""

from __future__ import annotations

import json

import pytest

from bench import quick
from bench.quick import QuickBenchError, Side, rows_of, table
from devkit.paths import PROJECT_ROOT


@pytest.mark.parametrize(
    ("now", "verdict"),
    [(10.0, ""), (10.1, ""), (10.4, ""), (11.0, "slower"), (9.0, "faster"), (9.9, "")],
)
def test_only_more_than_the_noise_counts(now: float, verdict: str) -> None:
    """The quartiles of the noise are 0.95 and 1.05; a round of ten times as much is none of it."""
    noise = [0.1, 0.95, 0.95, 1.0, 1.0, 1.0, 1.05, 1.05, 10.0]
    before = [{"Produce": 10.0 * slow} for slow in range(1, 10)]
    again = [{"Produce": 10.0 * slow * ratio} for slow, ratio in enumerate(noise, 1)]
    changed = [{"Produce": now * slow} for slow in range(1, 10)]
    (row,) = rows_of(changed, before, again)
    assert row.ratio == pytest.approx(now / 10)
    assert row.noise == pytest.approx((0.95, 1.05))
    assert row.verdict == verdict
    assert table([row], "main").splitlines()[1].endswith(verdict or "1.050")


@pytest.mark.parametrize(("now", "verdict"), [(10.1, ""), (10.3, "slower"), (9.7, "faster")])
def test_a_change_of_one_percent_is_none_without_noise(now: float, verdict: str) -> None:
    (row,) = rows_of([{"Fetch": now}], [{"Fetch": 10.0}], [{"Fetch": 10.0}])
    assert row.verdict == verdict


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


@pytest.mark.long("builds")
def test_the_compiled_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert quick.main(["HEAD", "--compiled", "--rounds", "2", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 8


def test_a_side_that_ends() -> None:
    with pytest.raises(QuickBenchError):
        Side(PROJECT_ROOT / "docs")
