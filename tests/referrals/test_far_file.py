"""The files with the knowledge of far volumes: read over a restart, written as a whole."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
from pathlib import Path

import pytest

from gateway.names import LogicalName
from gateway.referrals import far_file
from gateway.referrals.far import FarBroker, FarTopic, FarVolume
from gateway.referrals.far_file import FarVolumes
from gateway.referrals.numbers import Numbers

ALICE, BOB = "User:alice", "User:bob"
HOST = "192.0.2.7"
CLICKS, ORDERS = LogicalName("search", "clicks"), LogicalName("", "orders")
ID = bytes(range(16))
BROKERS = (FarBroker(2 << 16 | 1, "ny", 9092, "r1"), FarBroker(2 << 16 | 2, "ny", 9093, None))
READ_DESCRIBE = 1 << 3 | 1 << 8


class Clock:
    now = 5.0

    def __call__(self) -> float:
        return self.now


def volumes(directory: Path | None, worker: str = "w0") -> FarVolumes:
    return FarVolumes(directory, worker, Clock())


def full(directory: Path, worker: str = "w0") -> FarVolumes:
    """A worker's knowledge after some requests."""
    known = volumes(directory, worker)
    known.numbers = {"ny": 2}
    ny = known.of("la", "ny")
    ny.note_cluster(ALICE, 2, BROKERS, "ny-id", BROKERS[1].node_id)
    ny.note_topic(ALICE, CLICKS, ID, 3, READ_DESCRIBE, host=HOST)
    ny.note_topic(BOB, ORDERS, None, 1, None, host=HOST)
    return known


async def restarted(directory: Path, worker: str = "w0") -> FarVolumes:
    await full(directory).save()
    known = volumes(directory, worker)
    known.load()
    return known


def seen(volume: FarVolume) -> set[tuple[str, LogicalName, FarTopic]]:
    return set(volume.topics())


async def test_all_that_clients_need_comes_back(tmp_path: Path) -> None:
    known = await restarted(tmp_path / "new" / "directory")
    assert known.numbers == {"ny": 2}
    ny = known.of("la", "ny")
    assert (ny.number, ny.brokers) == (2, BROKERS)
    assert (ny.cluster_id, ny.controller_id) == ("ny-id", BROKERS[1].node_id)
    assert seen(ny) == {
        (ALICE, CLICKS, FarTopic(ID, 3, READ_DESCRIBE)),
        (BOB, ORDERS, FarTopic(None, 1, None)),
    }
    assert ny.name_of(ID, ALICE) == CLICKS
    assert (ny.shows(ALICE), ny.shows(BOB)) == (True, False)
    assert known.of("ny", "ny").brokers == (), "addresses are those of the asker's volume"


async def test_what_comes_back_is_asked_for_at_once(tmp_path: Path) -> None:
    """Rights may have been withdrawn while the gateway was down."""
    ny = (await restarted(tmp_path)).of("la", "ny")
    assert ny.rights(ALICE, HOST, CLICKS) is None
    age = ny.shown_age(ALICE)
    assert age is not None
    assert age > 1e9


async def test_a_worker_reads_the_files_of_all(tmp_path: Path) -> None:
    for worker, name in (("w0", "a"), ("w1", "b")):
        one = volumes(tmp_path, worker)
        one.of("la", "ny").note_topic(ALICE, LogicalName("", name), None, 1)
        await one.save()
    assert {file.name for file in tmp_path.iterdir()} == {"tree-w0.json", "tree-w1.json"}
    for worker in ("w0", "w1", "w2"):
        known = volumes(tmp_path, worker)
        known.load()
        assert {str(name) for _, name, _ in seen(known.of("la", "ny"))} == {"a", "b"}


@pytest.mark.parametrize("last", ["w0", "w1"])
async def test_of_two_files_the_newer_one_counts(tmp_path: Path, last: str) -> None:
    for place, worker in enumerate(("w0", "w1")):
        one = volumes(tmp_path, worker)
        one.numbers = {"ny": 2}
        brokers = (FarBroker(2 << 16 | place, worker, 9092, None),)
        one.of("la", "ny").note_cluster(ALICE, 2, brokers, worker, brokers[0].node_id)
        one.of("la", "ny").note_topic(ALICE, CLICKS, ID, place + 1)
        await one.save()
        at = 2_000 if worker == last else 1_000
        os.utime(tmp_path / f"tree-{worker}.json", (at, at))
    known = volumes(tmp_path)
    known.load()
    ny = known.of("la", "ny")
    (broker,) = ny.brokers
    assert (broker.host, ny.cluster_id, ny.controller_id) == (last, last, broker.node_id)
    topic = ny.topic(ALICE, CLICKS)
    assert topic is not None
    assert topic.partitions == int(last[1]) + 1


async def test_brokers_with_the_number_of_another_mount_do_not_come_back(tmp_path: Path) -> None:
    """The operator has given number 2 to a cluster of this gateway since."""
    known = await restarted(tmp_path)
    known.numbers = Numbers({"la": 2}, known.numbers).known
    ny = known.of("la", "ny")
    assert (ny.number, ny.brokers) == (0, ())
    assert known.of("other", "ny").number == 0


async def test_brokers_come_back_for_a_principal_that_has_seen_no_topic(tmp_path: Path) -> None:
    one = volumes(tmp_path)
    one.numbers = {"ny": 2}
    one.of("la", "ny").note_cluster(ALICE, 2, BROKERS, "ny-id", BROKERS[0].node_id)
    one.of("la", "ny").note_cluster(BOB, 2, (), None, -1)
    await one.save()
    known = volumes(tmp_path)
    known.load()
    ny = known.of("la", "ny")
    assert (ny.shows(ALICE), ny.shows(BOB)) == (True, False)
    ny.note_denied(ALICE)
    await known.save()
    known = volumes(tmp_path)
    known.load()
    assert not known.of("la", "ny").shows(ALICE)


async def test_nothing_is_written_without_news(tmp_path: Path) -> None:
    known = full(tmp_path)
    file = tmp_path / "tree-w0.json"
    await known.save()
    written = file.read_text()
    file.unlink()
    await known.save()
    assert not file.exists()
    known.of("la", "ny").note_topic(ALICE, ORDERS, None, 1)
    await known.save()
    assert file.read_text() != written
    again = volumes(tmp_path)
    again.load()
    file.unlink()
    await again.save()
    assert not file.exists(), "what was read is no news"


async def test_without_a_directory_nothing_is_kept() -> None:
    known = volumes(None)
    known.load()
    known.of("la", "ny").note_topic(ALICE, CLICKS, ID, 1)
    await known.save()
    assert known.of("la", "ny").topic(ALICE, CLICKS) is not None


async def test_readers_see_the_old_file_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = full(tmp_path)
    await known.save()
    file = tmp_path / "tree-w0.json"
    before = file.read_bytes()
    seen_meanwhile: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda _: seen_meanwhile.append(file.read_bytes()))
    known.of("la", "ny").note_topic(BOB, CLICKS, ID, 3)
    await known.save()
    assert seen_meanwhile == [before]
    assert BOB in file.read_text()
    assert list(tmp_path.iterdir()) == [file]


async def test_what_cannot_be_written_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = full(tmp_path / "directory")
    (tmp_path / "directory").write_text("a file is in the way")
    with caplog.at_level(logging.WARNING):
        await known.save()
    assert "tree-w0.json" in caplog.text
    (tmp_path / "directory").unlink()
    await known.save()
    assert (tmp_path / "directory" / "tree-w0.json").exists()


async def test_a_write_that_was_cancelled_does_not_meet_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the end the task that writes is cancelled, and its thread may go on beside the last
    write."""
    known = full(tmp_path)
    entered, met, inside = threading.Event(), threading.Event(), 0

    def fsync(_: int) -> None:
        nonlocal inside
        inside += 1
        if inside > 1:
            met.set()
        entered.set()
        met.wait(0.3)
        inside -= 1

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(far_file, "SAVE_SECONDS", 0.0)
    keeping = asyncio.create_task(known.keep())
    await asyncio.to_thread(entered.wait, 60)
    keeping.cancel()
    known.of("la", "ny").note_topic(BOB, CLICKS, ID, 3)
    await known.save()
    assert not met.is_set()
    assert BOB in json.dumps(json.loads((tmp_path / "tree-w0.json").read_text()))


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "1e308", "9" * 5_000])
async def test_absurd_numbers_are_no_obstacle(tmp_path: Path, number: str) -> None:
    await full(tmp_path).save()
    file = tmp_path / "tree-w0.json"
    written = file.read_text()
    for place in re.findall(r"(?<=[:\[,])-?\d+", written):
        file.write_text(re.sub(rf"(?<=[:\[,]){place}\b", number, written))
        volumes(tmp_path).load()
