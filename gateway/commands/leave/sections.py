"""Sections of the script that ``leave --plan`` prints, and how names are written in commands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.acl_model import Operation
from gateway.commands.leave.names import LeftId
from gateway.foreign_text import shown_text

ADMIN: Final = "admin.properties"
"""The login of an administrator of the brokers, where they ask for one."""

BY_HAND: Final = "has characters that no command here can hold: by hand"
_MOST_CHARACTERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Section:
    """A step: sentences, then commands. ``deletes``: its commands end something for good."""

    title: str
    notes: Sequence[str]
    commands: Sequence[str] = ()
    deletes: bool = False

    def lines(self, number: int) -> Iterator[str]:
        """Its lines in the script."""
        yield f"# {number}. {self.title}"
        # Clients choose some of these names: none may end its comment, or move the cursor.
        for note in self.notes:
            lines = (shown_text(line, _MOST_CHARACTERS) for line in note.split("\n"))
            yield from (f"#   {line}".rstrip() for line in lines)
        for command in self.commands:
            yield from (f"# {line}" if self.deletes else line for line in command.split("\n"))


def renamed_ids(ids: Iterable[LeftId]) -> list[LeftId]:
    """Those that get another name, of :func:`printable_ids`."""
    return [one for one in printable_ids(ids) if one.stored != one.becomes]


def printable_ids(ids: Iterable[LeftId]) -> list[LeftId]:
    """Those that a line of a script can hold."""
    return [one for one in ids if one.stored.isprintable()]


def operation_text(operation: Operation) -> str:
    """As kafka-acls writes it: ``DescribeConfigs``."""
    return "".join(part.title() for part in operation.name.split("_"))


def regex_of(name: str) -> str:
    """A regular expression for one topic: Kafka's tools take ``--topic`` for one, but to create."""
    return re.sub(r"\.", "[.]", name)
