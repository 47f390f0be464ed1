"""Files with the knowledge of far volumes that no worker has written, or not to their end."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from gateway.referrals.far import FarTopic
from tests.referrals.test_far_file import ALICE, CLICKS, ID, full, seen, volumes


def _changed(**values: Any) -> Any:
    content: Any = json.loads(json.dumps(GOOD))
    for key, value in values.items():
        (content if key in content else content["volumes"][0])[key] = value
    return content


TOPIC = [ALICE, "search", "clicks", ID.hex(), 3, None]
GOOD: dict[str, Any] = {
    "format": 1,
    "numbers": {"ny": 2},
    "volumes": [
        {
            "listener_volume": "la",
            "path": "ny",
            "cluster_id": None,
            "controller_id": -1,
            "brokers": [[2 << 16 | 1, "ny", 9092, None]],
            "shown_to": [ALICE],
            "topics": [TOPIC],
        }
    ],
}
FOREIGN: list[Any] = [
    [],
    {},
    "tree",
    None,
    {**GOOD, "format": 2},
    {**GOOD, "numbers": [1]},
    {**GOOD, "numbers": {"ny": "two"}},
    {**GOOD, "volumes": 7},
    {**GOOD, "volumes": [None]},
    _changed(brokers=[[1, "ny"]]),
    _changed(brokers=[["one", "ny", 9092, None]]),
    _changed(shown_to=None),
    _changed(topics=[TOPIC, TOPIC[:-1]]),
    _changed(topics=[TOPIC, [ALICE, "", "t", "abcd", 1, None]]),
    _changed(topics=[TOPIC, [ALICE, "", "t", "no hex", 1, None]]),
    _changed(topics=[TOPIC, [ALICE, "", "t", 5, 1, None]]),
    _changed(topics=[TOPIC, [ALICE, "", "t", None, None, None]]),
]


@pytest.mark.parametrize("content", FOREIGN, ids=range(len(FOREIGN)))
async def test_a_file_of_something_else_is_left_out_as_a_whole(
    tmp_path: Path, content: Any, caplog: pytest.LogCaptureFixture
) -> None:
    await full(tmp_path).save()
    (tmp_path / "tree-a.json").write_text(json.dumps(content))
    known = volumes(tmp_path)
    with caplog.at_level(logging.WARNING):
        known.load()
    (record,) = caplog.records
    assert "tree-a.json" in record.getMessage()
    assert known.numbers == {"ny": 2}
    assert seen(known.of("la", "ny")) == seen(full(tmp_path).of("la", "ny"))


def test_the_file_that_the_foreign_ones_are_made_of_is_read(tmp_path: Path) -> None:
    (tmp_path / "tree-a.json").write_text(json.dumps(GOOD))
    known = volumes(tmp_path)
    known.load()
    assert seen(known.of("la", "ny")) == {(ALICE, CLICKS, FarTopic(ID, 3, None))}


@pytest.mark.parametrize("text", [b"", b"\xff\xfe\x00", b"[" * 100_000], ids=["", "utf-8", "deep"])
async def test_bytes_that_are_no_json_are_left_out(tmp_path: Path, text: bytes) -> None:
    await full(tmp_path).save()
    (tmp_path / "tree-a.json").write_bytes(text)
    (tmp_path / "tree-b.json").mkdir()
    (tmp_path / "tree-c.json").symlink_to(tmp_path / "gone")
    known = volumes(tmp_path)
    known.load()
    assert known.numbers == {"ny": 2}


async def test_a_file_that_ends_anywhere_is_left_out(tmp_path: Path) -> None:
    await full(tmp_path).save()
    file = tmp_path / "tree-w0.json"
    whole = file.read_bytes()
    for end in range(0, len(whole), 7):
        file.write_bytes(whole[:end])
        known = volumes(tmp_path)
        known.load()
        assert known.numbers == {}
        assert seen(known.of("la", "ny")) == set()
