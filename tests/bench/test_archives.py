"""bench.archives: an archive that differs from the lock file is not used."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bench.archives import ArchiveError, archives


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive with a classifier that was fetched before."""
    monkeypatch.setenv("KAFKA_GATEWAY_CACHE", str(tmp_path))
    folder = tmp_path / "maven" / "org" / "example" / "native" / "1.0"
    folder.mkdir(parents=True)
    path = folder / "native-1.0-linux-x86_64.jar"
    path.write_bytes(b"content")
    return path


def _lock(tmp_path: Path, sha256: str) -> Path:
    lock = tmp_path / "peer.lock"
    lock.write_text(f"# from somewhere\norg.example:native:1.0:linux-x86_64 {sha256}\n")
    return lock


def test_an_archive_that_is_here_is_not_fetched(tmp_path: Path, cached: Path) -> None:
    lock = _lock(tmp_path, hashlib.sha256(b"content").hexdigest())
    assert archives(lock) == [cached]


def test_another_hash_is_rejected_and_the_archive_removed(tmp_path: Path, cached: Path) -> None:
    with pytest.raises(ArchiveError, match="the lock file says 00"):
        archives(_lock(tmp_path, "00"))
    assert not cached.exists()
