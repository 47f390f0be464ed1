"""Audit events in rolling files: JSON Lines, one event a line."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gateway.audit.event import AuditEvent, encode
from gateway.audit.interface import AuditError
from gateway.sinks.record_writer import RecordWriter, Sink
from gateway.sinks.rolling_files import RollingFiles

WHAT: Final = "audit log"
_OWNER_AND_GROUP: Final = 0o640


class AuditFiles:
    """See :class:`gateway.audit.hub.EventSink`. ``source`` is the events'."""

    name = "file"

    def __init__(self, source: str, files: Sink, max_queued: int) -> None:
        self._writer: RecordWriter[AuditEvent] = RecordWriter(
            WHAT, files, max_queued, lambda event: encode(source, event) + b"\n"
        )

    async def start(self) -> None:
        """Make the directory and the first file. Raises AuditError."""
        try:
            self._writer.start()
        except OSError as error:
            raise AuditError(f"the audit log cannot be written: {error}") from error

    def put(self, event: AuditEvent) -> None:
        """See :class:`gateway.audit.hub.EventSink`."""
        self._writer.put((event,), 1)

    async def stop(self, seconds: float) -> None:
        """See :class:`gateway.audit.hub.EventSink`."""
        # Waiting for the thread must not keep the topic's writer from writing meanwhile.
        await asyncio.to_thread(self._writer.close, seconds)

    @property
    def queued(self) -> int:
        """See :class:`gateway.audit.hub.EventSink`."""
        return self._writer.queued

    def take_counts(self) -> tuple[int, Mapping[str, int]]:
        """See :class:`gateway.audit.hub.EventSink`."""
        return self._writer.take_counts()


def rolling(directory: Path, stem: str, max_file_bytes: int, max_files: int) -> RollingFiles:
    """Files that only the gateway's user and group may read."""
    return RollingFiles(
        directory, stem, max_file_bytes, max_files, what=WHAT, mode=_OWNER_AND_GROUP
    )
