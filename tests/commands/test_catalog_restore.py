"""gateway.commands.catalog.restoring: a catalog that is lost comes back whole, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.catalog.entities import CatalogFormat, Entity, Gateway, Link, Namespace
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog.file import export_text, exported, secrets_text
from gateway.names import LogicalName
from tests.commands.catalog_samples import sample
from tests.commands.fake_backend import FakeBackend
from tests.commands.running import Said, command
from tests.config import config_samples


class Bench:
    """A cluster whose catalog is lost, and the files of its former content."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        link = Link(LogicalName("team-a", "same"), "org..orders", bytes(15) + b"\2")
        self.was = sample().apply([CatalogFormat(3), link], 9)
        self.config = str(config_samples.write(directory))
        self.file, self.secrets = directory / "catalog.yaml", directory / "secrets.yaml"
        self.file.write_text(export_text(self.was))
        self.secrets.write_text(secrets_text(self.was))
        # The topics of its namespaces exist.
        self.backend = FakeBackend(None, {"org..orders": {}, "team-a..x": {}})
        self.backend.take_place(monkeypatch)

    async def restore(self, *words: str) -> Said:
        line = ["catalog", "restore", "--config", self.config, *words, str(self.file)]
        return await command(*line)

    @property
    def snapshot(self) -> Snapshot:
        return self.backend.catalog.snapshot


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


def settled(snapshot: Snapshot) -> dict[object, Entity]:
    """A catalog's entities as files have them: without notes of work under way."""
    found = exported(snapshot.entities())
    return {
        key: replace(one, apply=(), apply_since=0) if isinstance(one, Namespace) else one
        for key, one in found.items()
    }


async def test_all_of_it_in_one_decision(bench: Bench) -> None:
    said = await bench.restore("--yes", "--secrets-from", str(bench.secrets))
    assert (said.status, said.err) == (0, "")
    assert len(bench.backend.catalog.commits) == 1
    assert export_text(bench.snapshot) == export_text(bench.was)
    assert secrets_text(bench.snapshot) == secrets_text(bench.was)
    assert bench.snapshot.format == 3


async def test_however_much_it_is(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    many = bench.was.apply([Namespace(f"n{number}") for number in range(1200)], 5000)
    bench.file.write_text(export_text(many))
    assert (await bench.restore("--yes")).status == 0
    assert len(bench.backend.catalog.commits) == 1
    assert len(bench.snapshot.namespaces) == len(many.namespaces)


async def test_gateways_that_began_it_anew_are_nothing(bench: Bench) -> None:
    bench.backend.catalog.snapshot = Snapshot().apply([Gateway("gw-1", 5, "1")], 1)
    assert (await bench.restore("--yes")).status == 0
    assert export_text(bench.snapshot) == export_text(bench.was)


@pytest.mark.parametrize("meanwhile", [False, True])
async def test_a_catalog_that_is_there_stays(bench: Bench, meanwhile: bool) -> None:
    there = Snapshot.of(["mine"])

    def appears() -> None:
        bench.backend.catalog.snapshot = there

    if meanwhile:
        bench.backend.catalog.before[0] = appears
    else:
        appears()
    said = await bench.restore("--yes")
    assert said.status == 1
    assert "catalog import" in said.err
    assert bench.snapshot == there


async def test_shown_only(bench: Bench) -> None:
    said = await bench.restore("--dry-run")
    assert said.status == 0
    assert "ACLs on TOPIC:PREFIXED:org:" in said.out
    assert bench.backend.catalog.commits == []


async def test_a_file_of_namespaces_is_no_catalog(bench: Bench) -> None:
    bench.file.write_text("format: 1\ncatalog_format: 1\nonly: namespaces\nnamespaces: {}\n")
    assert (await bench.restore("--yes")).status == 1
    assert bench.backend.catalog.commits == []


async def test_a_catalog_of_newer_software(bench: Bench) -> None:
    text = bench.file.read_text()
    bench.file.write_text(text.replace("catalog_format: 3", "catalog_format: 99"))
    assert (await bench.restore("--yes")).status == 1
    assert bench.backend.catalog.commits == []
