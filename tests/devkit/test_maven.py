"""devkit.maven: only files that the lock file names are used. No test here fetches anything."""

from __future__ import annotations

import hashlib
import tarfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devkit import maven
from devkit.maven import ENDPOINTS, LOCK_DIR, Jar, MavenError, read_lock, write_lock

_CONTENT = b"an archive"
_JAR = Jar("org.example", "thing", "1.0", hashlib.sha256(_CONTENT).hexdigest())


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("time.sleep", lambda _seconds: None)


class _Repository:
    """Stands for jgo: each fetch puts the next of ``contents`` in the archive's place."""

    def __init__(self, *contents: bytes | Exception) -> None:
        self._contents = list(contents)
        self.fetches = 0

    @property
    def context(self) -> Any:
        return self

    def create_dependency(self, coordinate: str) -> SimpleNamespace:
        assert coordinate == _JAR.coordinate
        return SimpleNamespace(artifact=self)

    def resolve(self) -> None:
        # As jgo does, which takes an existing file as whole.
        assert not _JAR.path.exists()
        self.fetches += 1
        content = self._contents.pop(0)
        if isinstance(content, Exception):
            raise content
        _JAR.path.parent.mkdir(parents=True, exist_ok=True)
        _JAR.path.write_bytes(content)


@pytest.mark.parametrize("name", ENDPOINTS)
def test_every_set_is_locked_to_its_endpoints(name: str) -> None:
    locked = read_lock(LOCK_DIR / f"{name}.lock")
    assert {jar.coordinate for jar in locked} >= set(ENDPOINTS[name])
    assert len({(jar.group, jar.artifact) for jar in locked}) == len(locked)


def test_a_lock_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "thing.lock"
    write_lock(path, ["org.example:thing:1.0"], [_JAR])
    assert read_lock(path) == [_JAR]


@pytest.mark.parametrize("text", ["org.example:thing:1.0\n", "org.example:thing 00\n"])
def test_a_malformed_lock_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.lock"
    path.write_text(text)
    with pytest.raises(MavenError, match=r"bad\.lock"):
        read_lock(path)


def test_a_missing_lock_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MavenError, match=r"none\.lock"):
        read_lock(tmp_path / "none.lock")


def test_a_broken_download_is_fetched_again() -> None:
    repository = _Repository(_CONTENT[:4], OSError("connection reset"), _CONTENT)
    assert maven._fetch(repository.context, _JAR) == len(_CONTENT)
    assert repository.fetches == 3
    assert _JAR.path.read_bytes() == _CONTENT


def test_an_archive_of_another_hash_is_rejected_and_not_kept() -> None:
    repository = _Repository(*[b"something else"] * maven._TRIES)
    with pytest.raises(MavenError, match=r"org\.example:thing:1\.0: .* SHA-256"):
        maven._fetch(repository.context, _JAR)
    assert not _JAR.path.exists()


def test_what_is_here_is_not_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _JAR.path.parent.mkdir(parents=True)
    _JAR.path.write_bytes(_CONTENT)
    write_lock(tmp_path / "thing.lock", [], [_JAR])
    monkeypatch.setattr(maven, "LOCK_DIR", tmp_path)
    assert maven.jars("thing") == (_JAR.path,)


def test_what_jgo_leaves_open_is_collected_before_another_test_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A warning of the garbage collector fails the test in which it comes."""
    collected = []

    class Socket:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            warnings.warn("unclosed", ResourceWarning, stacklevel=1)
            collected.append(True)

    def fetch_all(_missing: Sequence[Jar]) -> None:
        Socket()

    write_lock(tmp_path / "open.lock", [], [_JAR])
    monkeypatch.setattr(maven, "LOCK_DIR", tmp_path)
    monkeypatch.setattr(maven, "_fetch_all", fetch_all)
    assert maven.jars("open") == (_JAR.path,)
    assert collected == [True]


class _Packed:
    """Stands for jgo: resolves each project's archive to a file with ``content``."""

    def __init__(self, path: Path, content: bytes) -> None:
        self._path, self._content = path, content
        self.fetches = 0

    def project(self, *_: str) -> _Packed:
        return self

    def at_version(self, _: str) -> _Packed:
        return self

    def artifact(self, *what: str) -> _Packed:
        assert what == ("all", "tar.gz")
        return self

    def resolve(self) -> Path:
        self.fetches += 1
        self._path.write_bytes(self._content)
        return self._path


def test_a_project_is_fetched_and_unpacked_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    packed = tmp_path / "made.tar.gz"
    (tmp_path / "run.jar").write_bytes(_CONTENT)
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(tmp_path / "run.jar", "run.jar")
    repository = _Packed(tmp_path / "fetched.tar.gz", packed.read_bytes())
    monkeypatch.setattr(maven, "_context", lambda: repository)
    project = Jar("org.example", "thing", "1.0", hashlib.sha256(packed.read_bytes()).hexdigest())
    for _ in range(2):
        assert (maven.unpacked(project, "all") / "run.jar").read_bytes() == _CONTENT
    assert repository.fetches == 1
    with pytest.raises(MavenError, match=r"org\.example:thing:1\.0: .* SHA-256"):
        maven.unpacked(_JAR, "all")
    assert not (tmp_path / "fetched.tar.gz").exists()
