"""The files that keep a gateway's knowledge of far volumes over a restart.

Each worker writes a file, and reads the files of all workers of the gateway. While the owner
responds, no file alone decides anything. A file that cannot be read is logged and ignored.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

from gateway.files import UnreadableFile, read_file
from gateway.names import LogicalName
from gateway.node_ids import MOUNTED_BITS
from gateway.referrals.far import FarBroker, FarVolume

log = logging.getLogger(__name__)

FORMAT: Final = 1
SAVE_SECONDS: Final = 1.0
"""Seconds between two checks whether there is anything new to write."""

MAX_BYTES: Final = 256 * 1024 * 1024
"""Bytes of the largest file that is read back: more than a million topics."""

_LONG_AGO: Final = -math.inf
_ID_BYTES: Final = 16
_UNREADABLE: Final = (
    *(OSError, UnreadableFile, ValueError, LookupError, TypeError, AttributeError, RecursionError),
    ArithmeticError,  # a number that is too large for an integer
)


class _KeptTopic(NamedTuple):
    """A topic in a file, as :meth:`FarVolume.note_topic` takes it."""

    principal: str
    name: LogicalName
    topic_id: bytes | None
    partitions: int
    operations: int | None


class _KeptVolume(NamedTuple):
    """A volume in a file."""

    key: tuple[str, str]
    cluster_id: str | None
    controller_id: int
    brokers: tuple[FarBroker, ...]
    shown_to: Sequence[str]
    topics: Sequence[_KeptTopic]


class FarVolumes:
    """The volumes behind other gateways that a worker has met, by the listener's volume and by
    their own path."""

    def __init__(
        self,
        directory: Path | None = None,
        worker: str = "w0",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``directory`` None: no file is written or read."""
        self._directory = directory
        self._file = None if directory is None else directory / f"tree-{worker}.json"
        self._clock = clock
        self._volumes: dict[tuple[str, str], FarVolume] = {}
        self._numbers: Mapping[str, int] = {}
        self._saved = self._version()
        self._writing = Lock()

    @property
    def numbers(self) -> Mapping[str, int]:
        """Mount -> its recorded number."""
        return self._numbers

    @numbers.setter
    def numbers(self, numbers: Mapping[str, int]) -> None:
        """Set the numbers. Brokers without their volume's number in their node ids are forgotten,
        because clients would take them for brokers of another volume."""
        self._numbers = numbers
        for volume in self._volumes.values():
            volume.number = numbers.get(volume.path, 0)
            if any(each.node_id >> MOUNTED_BITS != volume.number for each in volume.brokers):
                volume.brokers, volume.controller_id = (), -1

    def of(self, listener_volume: str, path: str) -> FarVolume:
        """The volume at ``path``, as clients of the listeners of ``listener_volume`` see it."""
        key = listener_volume, path
        found = self._volumes.get(key)
        if found is None:
            found = self._volumes[key] = FarVolume(path, self._clock)
            found.number = self._numbers.get(path, 0)
        return found

    def load(self) -> None:
        """Read the files of this gateway's workers; if two files differ, the file that was written
        last counts."""
        if self._directory is None:
            return
        numbers: dict[str, int] = {}
        for file in sorted(self._directory.glob("tree-*.json"), key=_written_at):
            try:
                recorded, volumes = _read(json.loads(read_file(file, MAX_BYTES)))
            except _UNREADABLE as error:
                log.warning("'%s' is left out: what it keeps cannot be read: %s", file, error)
                continue
            for path, number in recorded.items():
                numbers.setdefault(path, number)
            for volume in volumes:
                self._restore(volume)
        self.numbers = numbers
        self._saved = self._version()

    async def keep(self) -> None:
        """Write changes again and again, in a task that is cancelled at the end."""
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            await self.save()

    async def save(self) -> None:
        """Write the volumes, if they have changed since the last write."""
        version = self._version()
        if self._file is None or version == self._saved:
            return
        try:
            await asyncio.to_thread(self._write, self._file, self._content())
        except OSError as error:
            log.warning("'%s' cannot be written, and is tried again: %s", self._file, error)
        else:
            self._saved = version

    def _write(self, file: Path, content: dict[str, object]) -> None:
        """Write a whole file: readers see the old file or the new file. If the task is cancelled,
        its thread goes on writing, and the next write waits."""
        text = json.dumps(content)
        with self._writing:
            file.parent.mkdir(parents=True, exist_ok=True)
            new = file.with_suffix(".new")
            with new.open("w") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            new.replace(file)

    def _version(self) -> tuple[int, Mapping[str, int]]:
        versions = sum(volume.version for volume in self._volumes.values())
        return versions, dict(self._numbers)

    def _content(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "numbers": dict(self._numbers),
            "volumes": [
                {
                    "listener_volume": listener_volume,
                    "path": path,
                    "cluster_id": volume.cluster_id,
                    "controller_id": volume.controller_id,
                    "brokers": [list(broker) for broker in volume.brokers],
                    "shown_to": volume.shown_to(),
                    "topics": list(_topics(volume)),
                }
                for (listener_volume, path), volume in self._volumes.items()
            ],
        }

    def _restore(self, kept: _KeptVolume) -> None:
        volume = self.of(*kept.key)
        if kept.brokers:
            volume.brokers, volume.controller_id = kept.brokers, kept.controller_id
        volume.cluster_id = kept.cluster_id or volume.cluster_id
        for principal in kept.shown_to:
            volume.note_shown(principal, shown=True, at=_LONG_AGO)
        for topic in kept.topics:
            volume.note_topic(*topic)


def _topics(volume: FarVolume) -> Iterator[list[object]]:
    for principal, name, topic in volume.topics():
        topic_id = None if topic.topic_id is None else topic.topic_id.hex()
        yield [principal, *name, topic_id, topic.partitions, topic.operations]


def _read(content: Any) -> tuple[dict[str, int], list[_KeptVolume]]:
    """The numbers and volumes in a file. Raises one of ``_UNREADABLE`` for content of another
    writer."""
    if content["format"] != FORMAT:
        raise ValueError(f"its format is {content['format']}, not {FORMAT}")
    numbers = {str(path): int(number) for path, number in content["numbers"].items()}
    return numbers, [_volume(one) for one in content["volumes"]]


def _volume(one: Any) -> _KeptVolume:
    brokers = tuple(
        FarBroker(int(node_id), str(host), int(port), None if rack is None else str(rack))
        for node_id, host, port, rack in one["brokers"]
    )
    cluster_id = one["cluster_id"]
    return _KeptVolume(
        (str(one["listener_volume"]), str(one["path"])),
        None if cluster_id is None else str(cluster_id),
        int(one["controller_id"]),
        brokers,
        [str(principal) for principal in one["shown_to"]],
        [_topic(*each) for each in one["topics"]],
    )


def _topic(
    principal: Any, namespace: Any, topic: Any, topic_id: Any, partitions: Any, operations: Any
) -> _KeptTopic:
    known = None if topic_id is None else bytes.fromhex(topic_id)
    if known is not None and len(known) != _ID_BYTES:
        raise ValueError(f"{topic_id!r} is no topic id")
    return _KeptTopic(
        str(principal),
        LogicalName(str(namespace), str(topic)),
        known,
        int(partitions),
        None if operations is None else int(operations),
    )


def _written_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0
