"""devkit.broker_format: copies of formatted directories equal the output of Kafka's tool."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from devkit.broker_format import META, format_data, new_id

TOLD = "#\n#Sat Nov 28 18:14:11 UTC 2026\n"


def tool(directory: Path, node_id: int, cluster_id: str) -> None:
    """Write the files that the storage tool of Kafka 4.3.1 writes."""
    directory.mkdir()
    ids = f"node.id={node_id}\ndirectory.id=T9u1fLRlAOtu9YZOk1yEdw\nversion=1\n"
    (directory / META).write_text(f"{TOLD}{ids}cluster.id={cluster_id}\n")
    (directory / "bootstrap.checkpoint").write_bytes(b"\0features")


def read(directory: Path) -> dict[str, str]:
    """The properties of a directory."""
    lines = (directory / META).read_text().splitlines()
    return dict(line.split("=") for line in lines if not line.startswith("#"))


def test_the_second_of_a_kind_has_the_files_of_the_first_and_its_own_ids(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    ran: list[Path] = []

    def format_first() -> None:
        ran.append(first)
        tool(first, 1, "AAAAAAAAAAAAAAAAAAAAAA")

    format_data(first, ("kind", tmp_path), 1, "AAAAAAAAAAAAAAAAAAAAAA", format_first)
    format_data(second, ("kind", tmp_path), 2, "BBBBBBBBBBBBBBBBBBBBBB", format_first)
    assert ran == [first]
    assert (second / "bootstrap.checkpoint").read_bytes() == b"\0features"
    one, other = read(first), read(second)
    assert other | {"directory.id": ""} == {
        "node.id": "2",
        "cluster.id": "BBBBBBBBBBBBBBBBBBBBBB",
        "directory.id": "",
        "version": one["version"],
    }
    assert other["directory.id"] != one["directory.id"]
    assert re.fullmatch("[A-Za-z0-9_][A-Za-z0-9_-]{21}", other["directory.id"])


def test_another_kind_is_formatted_by_the_tool(tmp_path: Path) -> None:
    for kind in ("broker", "controller"):
        directory = tmp_path / kind
        format_data(directory, (kind, tmp_path), 1, kind, lambda: tool(directory, 1, kind))  # noqa: B023
        assert read(directory)["directory.id"] == "T9u1fLRlAOtu9YZOk1yEdw"


def test_what_could_not_be_formatted_is_no_pattern_for_others(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError("full")

    for _ in range(2):
        with pytest.raises(OSError, match="full"):
            format_data(tmp_path / "data", ("failing", tmp_path), 1, "x", fail)


def test_ids_are_no_options() -> None:
    assert not any(new_id().startswith("-") for _ in range(1_000))
