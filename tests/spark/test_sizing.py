"""spark.session: which input is small, as far as that is known before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark import session
from spark.session import is_small, is_tiny


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of 600 bytes of lines in two files; up to 1,000 bytes are small."""
    monkeypatch.setattr(session, "SMALL_BYTES", 1_000)
    (tmp_path / "log" / "below").mkdir(parents=True)
    (tmp_path / "log" / "a.jsonl").write_bytes(b"x" * 300)
    (tmp_path / "log" / "below" / "b.jsonl").write_bytes(b"x" * 300)
    (tmp_path / "log" / "notes.txt").write_bytes(b"x" * 9_000)
    return tmp_path / "log"


def test_the_files_of_all_sources_are_added_up(log: Path) -> None:
    assert is_small([str(log)])
    assert is_small([f"file:{log}"])
    assert is_small([f"{log}/*.jsonl"])
    assert not is_small([str(log), f"{log}/below"] * 2)


def test_a_few_records_are_tiny(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_tiny([str(log)])
    monkeypatch.setattr(session, "TINY_BYTES", 599)
    assert is_small([str(log)])
    assert not is_tiny([str(log)])


@pytest.mark.parametrize(("name", "size"), [("c.jsonl.gz", 60), ("c.parquet", 30)])
def test_compressed_files_stand_for_more(log: Path, name: str, size: int) -> None:
    (log / name).write_bytes(b"x" * size)
    assert not is_small([str(log)])


@pytest.mark.parametrize("source", ["kafka://host:1/topic", "s3a://bucket/log", "nowhere"])
def test_what_cannot_be_looked_at_is_not_small(log: Path, source: str) -> None:
    assert not is_small([source])
    if ":" in source:
        assert not is_small([str(log), source])


def test_what_has_very_many_files_is_not_small(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_MOST_FILES", 1)
    assert not is_small([str(log)])
