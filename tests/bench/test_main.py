"""bench.__main__: options, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import __main__ as bench
from bench import report
from bench.catalog_rows import CatalogRow
from bench.results import Samples
from bench.targets.target import TargetError
from bench.wire import TARGETS, Outcome, Plan


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep results of the tests out of the tree."""
    monkeypatch.setattr(report, "LATEST", tmp_path / "results" / "latest.json")
    monkeypatch.setattr(report, "RECORD", tmp_path / "RESULTS.md")
    monkeypatch.setattr(bench, "compile_generator", lambda _: None)


def _measured(monkeypatch: pytest.MonkeyPatch, gateway: float) -> list[Plan]:
    plans: list[Plan] = []

    def run(plan: Plan, _: object) -> Outcome:
        plans.append(plan)
        samples = Samples()
        samples.add("bulk fetch", "haproxy", 0, {"cpu": 1.0})
        samples.add("bulk fetch", "gateway-ids", 0, {"cpu": gateway})
        titles = {"haproxy": "HAProxy", "gateway-ids": "gateway"}
        return Outcome(samples, titles, {"gateway-ids": (13, 15)})

    monkeypatch.setattr(bench, "run", run)
    return plans


def test_it_prints_the_table_and_writes_the_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = _measured(monkeypatch, 1.2)
    assert bench.main(["wire", "--gate"]) == 0
    assert plans == [Plan(5, 0.5, 0.0, tuple(TARGETS))]
    assert "pass by 8%" in capsys.readouterr().out
    result = json.loads((tmp_path / "results" / "latest.json").read_text())
    assert [row["target"] for row in result["wire"]] == ["haproxy", "gateway-ids"]
    assert not (tmp_path / "RESULTS.md").exists()


def test_a_missed_bar_fails_only_at_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    _measured(monkeypatch, 1.4)
    assert bench.main(["wire"]) == 0
    assert bench.main(["wire", "--gate"]) == 2


def test_a_run_is_recorded_when_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _measured(monkeypatch, 1.2)
    for _ in range(2):
        assert bench.main(["wire", "--record"]) == 0
    text = (tmp_path / "RESULTS.md").read_text()
    assert text.count("\n## ") == 2
    assert "gateway Produce v13, Fetch v15." in text


def test_the_catalog_is_a_part_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [CatalogRow("a gateway starts", "s", 6.0, 5.0)]
    monkeypatch.setattr(bench, "measure_catalog", lambda _: iter(rows))
    assert bench.main(["catalog"]) == 0
    assert "MISS by 20%" in capsys.readouterr().out
    result = json.loads((tmp_path / "results" / "latest.json").read_text())
    assert (result["catalog"][0]["passed"], result["wire"]) == (False, [])
    assert bench.main(["catalog", "--gate"]) == 2


def test_acls_are_a_part_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [CatalogRow("authorize", "us", 15.0, 30.0)]
    monkeypatch.setattr(bench, "measure_acls", lambda _: iter(rows))
    assert bench.main(["acls", "--gate"]) == 0
    assert "pass by 50%" in capsys.readouterr().out
    result = json.loads((tmp_path / "results" / "latest.json").read_text())
    assert [row["figure"] for row in result["catalog"]] == ["authorize"]


def test_starts_are_a_part_of_their_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [CatalogRow("kafka-gateway --help", "CPU s", 0.1, 0.4)]
    monkeypatch.setattr(bench, "measure_starts", lambda _: iter(rows))
    assert bench.main(["starts", "--gate"]) == 0
    assert "pass by 75%" in capsys.readouterr().out


def test_tls_is_a_part_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _measured(monkeypatch, 1.2)

    def run_tls(plan: Plan, _: object) -> Outcome:
        samples = Samples()
        samples.add("TLS handshakes", "haproxy-tls", 0, {"cpu": 1_000.0})
        return Outcome(samples, {"haproxy-tls": "HAProxy, TLS"}, {})

    monkeypatch.setattr(bench, "run_tls", run_tls)
    assert bench.main(["tls"]) == 0
    out = capsys.readouterr().out
    assert "| TLS handshakes | CPU us/connection | HAProxy, TLS |" in out
    assert "bulk fetch" not in out
    monkeypatch.setattr(bench, "measure", lambda: [])
    monkeypatch.setattr(bench, "measure_acls", lambda _: [])
    monkeypatch.setattr(bench, "measure_catalog", lambda _: [])
    monkeypatch.setattr(bench, "measure_starts", lambda _: [])
    assert bench.main([]) == 0
    out = capsys.readouterr().out
    assert "TLS handshakes" in out
    assert "bulk fetch" in out


def test_full_is_ten_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    plans = _measured(monkeypatch, 1.2)
    bench.main(["wire", "--full", "--rounds", "2", "--targets", "direct", "haproxy"])
    assert plans == [Plan(2, 0.5, 10.0, ["direct", "haproxy"])]


def test_what_is_missing_is_said_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(_: Plan, __: object) -> Outcome:
        raise TargetError("haproxy is missing")

    monkeypatch.setattr(bench, "run", run)
    assert bench.main(["wire"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "bench: haproxy is missing"
