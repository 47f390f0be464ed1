"""spark.filesystem: files through Hadoop's classes, here on a local disk."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spark.filesystem import FileSystem, literal


@pytest.fixture
def files(spark: SparkSession) -> FileSystem:
    """Any file system."""
    return FileSystem(spark)


def test_files_with_their_size_and_age(files: FileSystem, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b").write_text("12")
    (tmp_path / "a").write_text("1")
    (entry,) = files.files(str(tmp_path))
    assert (entry.path, entry.name, entry.size) == (f"file:{tmp_path}/a", "a", 1)
    assert abs(entry.modified_ms - (tmp_path / "a").stat().st_mtime * 1000) < 1000
    assert [e.name for e in files.files(str(tmp_path), recursive=True)] == ["a", "b"]
    assert [e.name for e in files.files(str(tmp_path / "a"))] == ["a"]
    assert files.files(str(tmp_path / "none")) == []


def test_paths_have_a_scheme(files: FileSystem, tmp_path: Path) -> None:
    assert files.qualified(str(tmp_path)) == f"file:{tmp_path}"
    assert files.qualified("table") == f"file:{Path.cwd()}/table"
    (tmp_path / "a").touch()
    assert files.matches(f"{tmp_path}/[ab]") == [f"file:{tmp_path}/a"]
    assert files.matches(f"{tmp_path}/none") == []


def test_a_file_is_created_once(files: FileSystem, tmp_path: Path) -> None:
    path = str(tmp_path / "log" / "1.json")
    assert files.create(path, "first, ä")
    assert not files.create(path, "second")
    assert files.read_text(path) == "first, ä"
    assert [entry.name for entry in files.files(str(tmp_path / "log"))] == ["1.json"]


def test_of_many_one_creates_it(files: FileSystem, tmp_path: Path) -> None:
    path = str(tmp_path / "1.json")
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: files.create(path, str(n)), range(8)))
    assert made.count(True) == 1
    assert files.read_text(path) == str(made.index(True))


def test_delete_and_exists(files: FileSystem, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").touch()
    assert files.exists(str(tmp_path / "a"))
    files.delete(str(tmp_path / "a"))
    files.delete(str(tmp_path / "a"))
    assert not files.exists(str(tmp_path / "a"))
    with pytest.raises(Py4JJavaError):
        files.read_text(str(tmp_path / "a"))


def test_what_is_wrong_with_a_gzip_file(files: FileSystem, tmp_path: Path) -> None:
    whole = gzip.compress(bytes(range(256)) * 100)
    contents = {
        "whole": whole,
        "two": whole + whole,
        "padded": whole + bytes(512),
        "more": whole + whole[:30],
        "cut": whole[:-9],
        "empty": b"",
        "none": b"x" * 50,
    }
    found = {}
    for name, content in contents.items():
        path = tmp_path / f"{name}.gz"
        path.write_bytes(content)
        found[name] = files.gzip_error(str(path))
    assert found["whole"] is found["two"] is files.gzip_error(f"{tmp_path}/gone.gz") is None
    assert "not a gzip file" in str(found["padded"])
    assert "EOFException" in str(found["more"])
    assert "EOFException" in str(found["cut"])
    assert "EOFException" in str(found["empty"])
    assert "not a gzip file" in str(found["none"])


def test_what_is_no_matter_of_the_content_is_an_error(files: FileSystem) -> None:
    with pytest.raises(Py4JJavaError, match="UnsupportedFileSystem"):
        files.gzip_error("nosuch://host/a.gz")


def test_directories_and_sizes(files: FileSystem, tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a").write_text("12")
    assert [entry.name for entry in files.directories(str(tmp_path))] == ["below"]
    assert files.directories(f"{tmp_path}/none") == []
    assert files.size(f"{tmp_path}/a") == 2
    assert files.size(f"{tmp_path}/none") is None


def test_names_that_look_like_patterns(files: FileSystem, tmp_path: Path) -> None:
    odd = tmp_path / "a[b]{c}*?"
    odd.touch()
    assert files.matches(literal(str(odd))) == [f"file:{odd}"]
    assert files.of_uri((tmp_path / "a b%[").as_uri()) == f"file:{tmp_path}/a b%["
