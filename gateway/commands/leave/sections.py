"""Sections of the script that ``leave --plan`` prints, and names as commands spell them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gateway.acl_model import Operation
from gateway.commands.leave.names import LeftId
from gateway.foreign_text import shown_text

ADMIN: Final = "admin.properties"
"""The login of an administrator of the brokers, if they require a login."""

BY_HAND: Final = "has characters that no command here can hold: by hand"
_MOST_CHARACTERS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Section:
    """A step: sentences, then commands. If ``deletes``, the commands delete something for good."""

    title: str
    notes: Sequence[str]
    commands: Sequence[str] = ()
    deletes: bool = False

    def lines(self, number: int) -> Iterator[str]:
        """The lines of the section in the script."""
        yield f"# {number}. {self.title}"
        # Clients choose some of these names, so a name must not end its
        # comment, or move the cursor.
        for note in self.notes:
            lines = (shown_text(line, _MOST_CHARACTERS) for line in note.split("\n"))
            yield from (f"#   {line}".rstrip() for line in lines)
        for command in self.commands:
            yield from (f"# {line}" if self.deletes else line for line in command.split("\n"))


def renamed_ids(ids: Iterable[LeftId]) -> list[LeftId]:
    """The ids of :func:`printable_ids` that get another name."""
    return [one for one in printable_ids(ids) if one.stored != one.becomes]


def printable_ids(ids: Iterable[LeftId]) -> list[LeftId]:
    """The ids that a line of a script can hold."""
    return [one for one in ids if one.stored.isprintable()]


def operation_text(operation: Operation) -> str:
    """The operation as kafka-acls spells it: ``DescribeConfigs``."""
    return "".join(part.title() for part in operation.name.split("_"))


def regex_of(name: str) -> str:
    """A regular expression that matches this topic alone, because Kafka's tools take ``--topic`` as
    a regular expression except when they create a topic."""
    return re.sub(r"\.", "[.]", name)
