"""devkit.class_archive: which archive a broker's Java uses. ``make live`` makes one."""

from __future__ import annotations

from pathlib import Path

import pytest

from devkit import class_archive


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "java").touch()
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(class_archive, "find_java", lambda: str(tmp_path / "java"))
    monkeypatch.setattr(class_archive, "jars", lambda name: (Path(f"{name}.jar"),))


def test_an_archive_that_is_missing_is_not_named() -> None:
    path = class_archive.class_archive("kafka")
    assert class_archive.archive_options("kafka") == ()
    path.parent.mkdir(parents=True)
    path.touch()
    assert class_archive.archive_options("kafka")[0] == f"-XX:SharedArchiveFile={path}"
    assert class_archive.archive_options("kafka-3.9") == ()


def test_another_java_has_another_archive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = class_archive.class_archive("kafka")
    (tmp_path / "other").touch()
    monkeypatch.setattr(class_archive, "find_java", lambda: str(tmp_path / "other"))
    assert class_archive.class_archive("kafka") != path


def test_an_archive_is_made_once() -> None:
    path = class_archive.class_archive("kafka")
    path.parent.mkdir(parents=True)
    path.touch()
    class_archive.main()  # it starts no broker: there is none to be started here
    assert path.read_bytes() == b""
