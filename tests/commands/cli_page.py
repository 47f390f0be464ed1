"""The commands of docs/cli.md, top to bottom: their words, how they end, and the text they
print."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from tests.docs import markdown

PAGE = markdown.read("docs/cli.md")

ADDRESS = "127.0.0.1:9192"
"""The listener that the page's commands go to."""

_STEP = re.compile(r"\$ kafka-gateway (.*?)(?:  # exit status (\d+))?\n")


@dataclass(frozen=True, slots=True)
class Step:
    """A command's words after ``kafka-gateway``, its exit status, and the text below it."""

    words: tuple[str, ...]
    status: int
    output: str


def steps(*commands: str) -> list[Step]:
    """The steps of these subcommands."""
    found = []
    for block in markdown.blocks(PAGE):
        if block.language != "console":
            continue
        _, *parts = _STEP.split(block.text + "\n")
        for line, status, output in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
            words = tuple(shlex.split(line))
            if words[0] in commands:
                found.append(Step(words, int(status or 0), output))
    return found
