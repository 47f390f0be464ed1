"""The file of what is known of the volumes behind other gateways, kept over a restart.

Each worker writes one of its own, and reads those of all: what any of them saw is as good. It is a
memory and no truth, so a file that cannot be read is logged and left out.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from gateway.names import LogicalName
from gateway.referrals.far import FarBroker, FarVolume

log = logging.getLogger(__name__)

FORMAT: Final = 1
SAVE_SECONDS: Final = 5.0
"""Seconds between two looks whether there is something new to write."""


class FarVolumes:
    """All volumes behind other gateways that a worker has met, by the volume of the listener and
    their own path; ``numbers`` are those recorded for mounts."""

    def __init__(
        self,
        directory: Path | None = None,
        worker: str = "w0",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``directory`` None: nothing is kept."""
        self._directory = directory
        self._file = None if directory is None else directory / f"tree-{worker}.json"
        self._clock = clock
        self._volumes: dict[tuple[str, str], FarVolume] = {}
        self._saved = 0
        self.numbers: Mapping[str, int] = {}

    def of(self, listener_volume: str, path: str) -> FarVolume:
        """The volume at ``path`` as clients of the listeners of ``listener_volume`` see it."""
        key = listener_volume, path
        found = self._volumes.get(key)
        if found is None:
            found = self._volumes[key] = FarVolume(path, self._clock)
            found.number = self.numbers.get(path, 0)
        return found

    def load(self) -> None:
        """Read what the workers of this gateway have written."""
        if self._directory is None:
            return
        for file in sorted(self._directory.glob("tree-*.json")):
            try:
                self._read(json.loads(file.read_text()))
            except (OSError, ValueError, KeyError, TypeError) as error:
                log.warning("'%s' is left out: what it keeps cannot be read: %s", file, error)
        self._saved = self._version()

    async def keep(self) -> None:
        """Write what is new, again and again; a task that is cancelled at the end."""
        while True:
            await asyncio.sleep(SAVE_SECONDS)
            await self.save()

    async def save(self) -> None:
        """Write what is known, if it has changed since it was written last."""
        version = self._version()
        if self._file is None or version == self._saved:
            return
        text = json.dumps(self._content())
        try:
            await asyncio.to_thread(_replace, self._file, text)
        except OSError as error:
            log.warning("'%s' cannot be written, and is tried again: %s", self._file, error)
        else:
            self._saved = version

    def _version(self) -> int:
        return sum(volume.version for volume in self._volumes.values()) + len(self.numbers)

    def _content(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "numbers": dict(self.numbers),
            "volumes": [
                {
                    "listener_volume": listener_volume,
                    "path": path,
                    "cluster_id": volume.cluster_id,
                    "controller_id": volume.controller_id,
                    "brokers": [list(broker) for broker in volume.brokers],
                    "topics": list(_topics(volume)),
                }
                for (listener_volume, path), volume in self._volumes.items()
            ],
        }

    def _read(self, content: Any) -> None:
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']}, not {FORMAT}")
        numbers = {str(path): int(number) for path, number in content["numbers"].items()}
        self.numbers = {**numbers, **self.numbers}
        for one in content["volumes"]:
            volume = self.of(str(one["listener_volume"]), str(one["path"]))
            brokers = (FarBroker(int(a), str(b), int(c), d) for a, b, c, d in one["brokers"])
            volume.brokers = tuple(brokers) or volume.brokers
            volume.cluster_id = one["cluster_id"] or volume.cluster_id
            volume.controller_id = int(one["controller_id"])
            for principal, namespace, topic, topic_id, partitions, operations in one["topics"]:
                name = LogicalName(str(namespace), str(topic))
                known = bytes.fromhex(topic_id) if topic_id else None
                allowed = None if operations is None else int(operations)
                volume.note_topic(str(principal), name, known, int(partitions), allowed)
                volume.note_shown(str(principal), shown=bool(volume.brokers))


def _topics(volume: FarVolume) -> Iterator[list[object]]:
    for principal, name, topic in volume.topics():
        topic_id = None if topic.topic_id is None else topic.topic_id.hex()
        yield [principal, *name, topic_id, topic.partitions, topic.operations]


def _replace(file: Path, text: str) -> None:
    """Write a file as a whole: readers see the old one or the new one."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_suffix(".new")
    with new.open("w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    new.replace(file)
