"""kafka-gateway catalog sign: the catalog is signed, or need not be."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway import cli, exit_codes
from gateway.catalog.entities import CatalogFormat, Gateway, Namespace
from gateway.catalog.snapshot import Snapshot
from tests.commands.fake_backend import FakeBackend
from tests.config.config_samples import write


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text(f"k2 {'22' * 32}\nk1 {'11' * 32}\n")
    return path


def backend(monkeypatch: pytest.MonkeyPatch, *more: object) -> FakeBackend:
    made = FakeBackend(Snapshot().apply([Namespace("org"), *more], 4))  # type: ignore[list-item]
    made.take_place(monkeypatch)
    return made


def test_everything_is_written_once_more(
    tmp_path: Path,
    keys: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = backend(monkeypatch)
    config = write(tmp_path, catalog={"key_file": str(keys)})
    assert cli.main(["catalog", "sign", "--config", str(config)]) == exit_codes.OK
    assert made.catalog.snapshot.signing == "k2"
    assert made.catalog.snapshot.format == 2
    assert set(made.catalog.snapshot.namespaces) == {"org"}
    # The format; then the announcement, the format, the namespace, and the end.
    assert made.catalog.commits == [1, 4]
    told = capsys.readouterr().out
    assert told == "The catalog is signed with key k2: 1 entity, version 9.\n"
    assert cli.main(["catalog", "sign", "--off", "--config", str(config)]) == exit_codes.OK
    assert made.catalog.snapshot.signing == ""


@pytest.mark.parametrize("level", [2, 3, 4])
def test_a_catalog_of_a_newer_format_keeps_it(
    tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch, level: int
) -> None:
    made = backend(monkeypatch, CatalogFormat(level))
    config = write(tmp_path, catalog={"key_file": str(keys)})
    assert cli.main(["catalog", "sign", "--config", str(config)]) == exit_codes.OK
    assert (made.catalog.snapshot.signing, made.catalog.snapshot.format) == ("k2", level)


def test_a_gateway_that_cannot_read_signatures_is_in_the_way(
    tmp_path: Path,
    keys: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = backend(monkeypatch, Gateway("gw-1", 1, "0.1"))
    config = write(tmp_path, catalog={"key_file": str(keys)})
    assert cli.main(["catalog", "sign", "--config", str(config)]) == exit_codes.FAILED
    assert "was not signed" in (told := capsys.readouterr().err)
    assert "'gw-1'" in told
    assert made.catalog.snapshot.signing == ""


def test_without_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = backend(monkeypatch, CatalogFormat(2))
    assert cli.main(["catalog", "sign", "--config", str(write(tmp_path))]) == exit_codes.FAILED
    told = capsys.readouterr().err
    assert "has no catalog.key_file\n  give all gateways the same" in told
    assert made.opened == []


def test_what_junk_stands_for_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = backend(monkeypatch)
    made.catalog.damaged = 3
    assert cli.main(["catalog", "mend", "--config", str(write(tmp_path))]) == exit_codes.OK
    assert capsys.readouterr().out == "3 records written in place of junk.\n"
    assert made.opened == ["to write"]
