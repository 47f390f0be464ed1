"""gateway.sinks.rolling_files: rolling, compressing, cleaning up, and disks that are full."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from pathlib import Path
from typing import IO

import pytest

from gateway.sinks.rolling_files import RollingFiles


def files(
    directory: Path, *, max_file_bytes: int = 100, max_files: int = 3, now: float = 0.0
) -> RollingFiles:
    """The files of a process whose clock stands still."""
    stem = "traffic-gw-w0"
    return RollingFiles(
        directory, stem, max_file_bytes, max_files, what="traffic log", clock=lambda: now
    )


def names(directory: Path) -> list[str]:
    return sorted(path.name.removeprefix("traffic-gw-w0-") for path in directory.iterdir())


def lines(directory: Path) -> list[str]:
    """Every line of every file, as a reader gets them."""
    found: list[str] = []
    for path in sorted(directory.glob("*.jsonl*")):
        data = path.read_bytes()
        found += (gzip.decompress(data) if path.suffix == ".gz" else data).decode().splitlines()
    return found


def test_lines_are_there_at_once(tmp_path: Path) -> None:
    rolling = files(tmp_path / "a" / "b")
    rolling.prepare()
    rolling.write(b"one\n")
    rolling.write(b"two\nthree\n")
    assert names(tmp_path / "a" / "b") == ["00000001.jsonl"]
    assert lines(tmp_path / "a" / "b") == ["one", "two", "three"]
    rolling.close()


def test_full_files_are_compressed_and_the_oldest_removed(tmp_path: Path) -> None:
    rolling = files(tmp_path)
    rolling.prepare()
    for number in range(6):
        rolling.write(f"{number}".encode().ljust(60, b".") + b"\n")
    rolling.close()
    assert names(tmp_path) == [f"0000000{n}.jsonl.gz" for n in (3, 4, 5)] + ["00000006.jsonl"]
    assert [line[0] for line in lines(tmp_path)] == ["2", "3", "4", "5"]


def test_a_file_takes_as_much_as_it_may(tmp_path: Path) -> None:
    rolling = files(tmp_path)
    rolling.prepare()
    rolling.write(b"x" * 49 + b"\n")
    rolling.write(b"x" * 49 + b"\n")
    assert names(tmp_path) == ["00000001.jsonl"]
    rolling.write(b"\n")
    assert names(tmp_path) == ["00000001.jsonl.gz", "00000002.jsonl"]
    rolling.close()


def test_more_than_a_file_takes_still_gets_a_file(tmp_path: Path) -> None:
    rolling = files(tmp_path)
    rolling.prepare()
    rolling.write(b"x" * 500 + b"\n")
    assert names(tmp_path) == ["00000001.jsonl"]
    rolling.close()


def test_the_next_process_uses_the_next_number_and_compresses_what_was_left(tmp_path: Path) -> None:
    first = files(tmp_path)
    first.prepare()
    first.write(b'one\n{"cut of')
    first.close()
    second = files(tmp_path)
    second.prepare()
    second.write(b"two\n")
    second.tidy()
    assert names(tmp_path) == ["00000001.jsonl.gz", "00000002.jsonl"]
    assert lines(tmp_path) == ["one", '{"cut of', "two"]
    second.close()


def test_no_name_comes_twice_when_the_directory_was_emptied(tmp_path: Path) -> None:
    """A reader of the earlier files would take new files of the same names for these."""
    first = files(tmp_path, now=1_000.0)
    first.prepare()
    first.write(b"one\n")
    first.close()
    (kept,) = names(tmp_path)
    assert kept == "01000000.jsonl"
    (tmp_path / f"traffic-gw-w0-{kept}").unlink()
    second = files(tmp_path, now=1_000.25)
    second.prepare()
    second.write(b"two\n")
    second.close()
    assert names(tmp_path) == ["01000250.jsonl"]


def test_numbers_go_up_though_the_clock_was_set_back(tmp_path: Path) -> None:
    first = files(tmp_path, now=1_000.0)
    first.prepare()
    first.write(b"one\n")
    first.close()
    second = files(tmp_path, now=10.0)
    second.prepare()
    second.write(b"two\n")
    (tmp_path / "traffic-gw-w0-01000000.jsonl").unlink()
    (tmp_path / "traffic-gw-w0-01000001.jsonl").unlink()
    second.write(b"three\n")
    assert names(tmp_path) == ["01000002.jsonl"]
    second.close()


def test_what_is_being_compressed_is_not_read_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of a compressed file is no file of the log to readers of ``*.jsonl*``."""
    rolling = files(tmp_path)
    rolling.prepare()
    rolling.write(b"x" * 90 + b"\n")
    real, seen = shutil.copyfileobj, list[list[str]]()

    def look_in_between(source: IO[bytes], target: IO[bytes], length: int) -> None:
        real(source, target, length)
        seen.append(sorted(path.name[-14:] for path in tmp_path.glob("*.jsonl*")))

    monkeypatch.setattr(shutil, "copyfileobj", look_in_between)
    rolling.write(b"y" * 90 + b"\n")
    rolling.close()
    assert seen == [["00000001.jsonl", "00000002.jsonl"]]
    assert names(tmp_path) == ["00000001.jsonl.gz", "00000002.jsonl"]


@pytest.mark.parametrize("left", ["nothing", "half", "all", "of another"])
def test_a_crash_while_a_file_is_compressed_costs_nothing(tmp_path: Path, left: str) -> None:
    """Both files exist; the compressed file may be cut short."""
    first = files(tmp_path)
    first.prepare()
    first.write(b"one\ntwo\n")
    first.close()
    whole = gzip.compress(b"one\ntwo\n" if left != "of another" else b"one\n")
    half = {"nothing": whole[:0], "half": whole[: len(whole) // 2]}.get(left, whole)
    (tmp_path / "traffic-gw-w0-00000001.jsonl.gz").write_bytes(half)
    (tmp_path / "traffic-gw-w0-00000001.gz.tmp").write_bytes(half)
    second = files(tmp_path)
    second.prepare()
    second.tidy()
    second.close()
    assert names(tmp_path) == ["00000001.jsonl.gz"]
    assert lines(tmp_path) == ["one", "two"]


def test_an_empty_file_leaves_nothing(tmp_path: Path) -> None:
    rolling = files(tmp_path)
    rolling.prepare()
    rolling.close()
    assert names(tmp_path) == []
    (tmp_path / "traffic-gw-w0-00000007.jsonl").touch()
    rolling = files(tmp_path)
    rolling.prepare()
    rolling.tidy()
    rolling.close()
    assert names(tmp_path) == []


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    others = ["traffic-gw-w00-00000001.jsonl", "traffic-gw-w1-00000001.jsonl", "notes.jsonl"]
    for name in others:
        (tmp_path / name).write_text("x\n")
    rolling = files(tmp_path, max_files=1)
    rolling.prepare()
    rolling.tidy()
    assert names(tmp_path) == sorted([*others, "00000001.jsonl"])
    rolling.close()


def test_a_file_that_another_process_writes_is_not_touched(tmp_path: Path) -> None:
    other = files(tmp_path)
    other.prepare()
    other.write(b"one\n")
    rolling = files(tmp_path)
    rolling.prepare()
    rolling.tidy()
    other.write(b"two\n")
    assert names(tmp_path) == ["00000001.jsonl", "00000002.jsonl"]
    assert lines(tmp_path) == ["one", "two"]
    other.close()
    rolling.close()


def test_a_crash_while_compressing_costs_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    stem = tmp_path / "traffic-gw-w0-00000001"
    stem.with_suffix(".jsonl").write_text("one\n")
    stem.with_suffix(".gz.tmp").write_bytes(b"half")
    stem.with_suffix(".jsonl.gz.tmp").write_bytes(b"half, as it was called before")
    done = tmp_path / "traffic-gw-w0-00000002"
    done.with_suffix(".jsonl").write_text("two\n")
    done.with_suffix(".jsonl.gz").write_bytes(gzip.compress(b"two\n"))
    rolling = files(tmp_path)
    rolling.prepare()
    rolling.tidy()
    rolling.close()
    assert names(tmp_path) == ["00000001.jsonl.gz", "00000002.jsonl.gz"]
    assert lines(tmp_path) == ["one", "two"]


def test_a_full_disk_leaves_no_part_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rolling = files(tmp_path)
    rolling.prepare()
    rolling.write(b"one\n")
    real = os.write

    def full_after_three_bytes(descriptor: int, data: bytes) -> int:
        if len(data) <= 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data[:3])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full_after_three_bytes)
        with pytest.raises(OSError, match="No space left"):
            rolling.write(b"two\n")
    assert lines(tmp_path) == ["one"]
    rolling.write(b"three\n")
    assert lines(tmp_path) == ["one", "three"]
    rolling.close()


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rolling = files(tmp_path)
    rolling.prepare()
    real = os.write
    monkeypatch.setattr(os, "write", lambda to, data: real(to, data[:2]))
    rolling.write(b"abcdefg\n")
    assert lines(tmp_path) == ["abcdefg"]
    rolling.close()


def test_compressing_that_fails_keeps_the_plain_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rolling = files(tmp_path)
    rolling.prepare()
    rolling.write(b"x" * 90 + b"\n")

    def reject(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", reject)
        rolling.write(b"y" * 90 + b"\n")
    assert names(tmp_path) == ["00000001.jsonl", "00000002.jsonl"]
    assert "traffic log: " in caplog.text
    assert "stays as it is, compressing failed" in caplog.text
    rolling.close()


def test_a_file_that_someone_removed_is_made_anew(tmp_path: Path) -> None:
    directory = tmp_path / "log"
    rolling = files(directory)
    rolling.prepare()
    rolling.write(b"one\n")
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    rolling.write(b"two\n")
    assert lines(directory) == ["two"]
    rolling.close()


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"Not a directory|File exists"):
        files(tmp_path / "file").prepare()


def test_who_may_read_them(tmp_path: Path) -> None:
    rolling = RollingFiles(tmp_path, "audit-gw-0", 100, 3, what="audit", mode=0o600)
    rolling.prepare()
    rolling.write(b"x" * 90 + b"\n")
    rolling.write(b"y" * 90 + b"\n")
    rolling.close()
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert {path.suffix for path in tmp_path.iterdir()} == {".gz", ".jsonl"}
