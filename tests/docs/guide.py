"""The commands of a page such as docs/namespaces.md: the output of each, and how it ends.

They stand in blocks of the language ``console``, after ``$``; lines of a command's output follow
it, in their order but not all of them. If ``# exit status 1`` stands behind a command, it fails, as
it should.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from devkit.java import TOOL_SCRIPTS
from tests.docs import markdown

PAGE = "docs/namespaces.md"
LANGUAGE = "console"
PROGRAMS = {"kafka-gateway", *TOOL_SCRIPTS}

# The addresses of the page's listeners.
ADMIN = "127.0.0.1:9192"
ADMIN_LEGAL = "127.0.0.1:9292"

_PROMPT = "$ "
_STATUS = re.compile(r"\s+# exit status (\d+)$")


@dataclass(frozen=True, slots=True)
class Step:
    """A command of the page: its words, its exit status, and lines of its output."""

    words: tuple[str, ...]
    status: int
    shown: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(self.words)


def steps(page: str = PAGE) -> list[Step]:
    """Every command of the page, top to bottom."""
    found: list[Step] = []
    for block in markdown.blocks(markdown.read(page)):
        if block.language == LANGUAGE:
            found += _steps(page, block.text)
    return found


def _steps(page: str, text: str) -> list[Step]:
    found: list[Step] = []
    for line in text.splitlines():
        if line.startswith(_PROMPT):
            match = _STATUS.search(line)
            command = line.removeprefix(_PROMPT) if match is None else line[2 : match.start()]
            status = 0 if match is None else int(match[1])
            found.append(Step(tuple(shlex.split(command)), status, ()))
        else:
            assert found, f"{page} shows the output {line!r} of no command"
            last = found.pop()
            found.append(Step(last.words, last.status, (*last.shown, line)))
    return found
