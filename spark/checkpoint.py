"""Structured Streaming's checkpoint, as far as a table depends on it.

    CHECKPOINT/offsets/N       the end of batch N: written before the batch runs
    CHECKPOINT/commits/N       written when batch N has run
    CHECKPOINT/sources/0/K     files that were found together; K.compact: all files up to K

A batch goes from the offset of the batch before it to its own; if the source is files, an offset
is the last K.
"""

from __future__ import annotations

import json
from typing import Any, Final

from spark.filesystem import FileSystem
from spark.table import Stream, Table, TableError

_FIRST: Final = -1
_COMPACT: Final = ".compact"


class Checkpoint:
    """The checkpoint of one stream."""

    def __init__(self, files: FileSystem, path: str) -> None:
        self._files = files
        self.path = path

    def refuse_another(self, table: Table, stream: str) -> None:
        """Raise TableError if the checkpoint is older or newer than the table.

        If it is older, or missing, Spark would give the numbers of committed batches to new lines.
        If it is newer, Spark would not read again the lines that the table has lost.
        """

        # This order is correct even if another ingest runs, because a batch is planned before it is
        # in the table, and in the table before it is marked as run.
        run = self._newest("commits")
        batch = table.snapshot().streams.get(stream, Stream()).batch
        planned = self._newest("offsets")
        if planned < batch or not self._has_files_of(planned):
            raise TableError(
                f"{self.path} is gone, or older than the table: lines would be read again, or "
                "left out. Bring it back as it was, or write to a new table"
            )
        if run > batch:
            mend = "Bring back the table's log as it was, or write to a new table"
            if run == batch + 1 == planned:
                note = f"{self.path}/commits/{run}"
                mend = f"Remove {note}, and .{run}.crc beside it: the batch is then made again"
            raise TableError(f"{table.log} lacks batch {batch + 1}, which had been there. {mend}")

    def files_of(self, number: int) -> list[str]:
        """The files of a batch, including files that were removed since.

        Raises TableError if the checkpoint does not list them.
        """

        first = self._offset(number - 1) + 1 if number else 0
        found = range(first, self._offset(number) + 1)
        return sorted(path for one in found for path in self._found(one))

    def _newest(self, log: str) -> int:
        return max(self._numbers(f"{self.path}/{log}"), default=_FIRST)

    def _numbers(self, directory: str) -> list[int]:
        names = (entry.name.removesuffix(_COMPACT) for entry in self._files.files(directory))
        return [int(name) for name in names if name.isdigit()]

    def _has_files_of(self, number: int) -> bool:
        """Whether the checkpoint lists the last files of a batch; always true for a topic's
        batch."""
        if number == _FIRST:
            return True
        offset = self._end_of(number).get("logOffset")
        known = max(self._numbers(self._sources), default=_FIRST)
        return not isinstance(offset, int) or known >= offset

    @property
    def _sources(self) -> str:
        return f"{self.path}/sources/0"

    def _offset(self, number: int) -> int:
        """The offset of files at which a batch ends."""

        offset = self._end_of(number).get("logOffset")
        if not isinstance(offset, int):
            raise self._unknown(f"offsets/{number}")
        return offset

    def _end_of(self, number: int) -> dict[str, Any]:
        """The end of a batch as Spark's source has written it, in the last line."""

        return self._objects(f"offsets/{number}")[-1]

    def _found(self, offset: int) -> list[str]:
        """The files that were found together and got this offset."""

        names = {entry.name for entry in self._files.files(self._sources)}
        compact = (n for n in names if n.endswith(_COMPACT))
        later = sorted(
            (number, name)
            for name in compact
            if (number := int(name.removesuffix(_COMPACT))) >= offset
        )
        name = str(offset)
        if name not in names and later:
            _, name = later[0]
        entries = self._objects(f"sources/0/{name}")
        return [self._files.of_uri(one["path"]) for one in entries if one["batchId"] == offset]

    def _objects(self, name: str) -> list[dict[str, Any]]:
        """The lines of a file after the first line, which is the format's version."""

        path = f"{self.path}/{name}"
        if not self._files.exists(path):
            raise self._unknown(name)
        try:
            made = [json.loads(line) for line in self._files.read_text(path).splitlines()[1:]]
        except ValueError as error:
            raise self._unknown(name) from error
        return made

    def _unknown(self, name: str) -> TableError:
        return TableError(f"{self.path}/{name} is gone, cut short, or another Spark's")
