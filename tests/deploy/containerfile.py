"""Reading Containerfile: its stages and their instructions."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field

from tests.docs import markdown

_CONTINUED = re.compile(r"\\\n\s*")
_FROM = re.compile(r"(\S+)(?: AS (\S+))?")


@dataclass(slots=True)
class Stage:
    """A ``FROM``: its image, its name, and the instructions behind it, each with its text."""

    image: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def texts(self, instruction: str) -> list[str]:
        """The texts of an instruction, in order."""
        return [text for name, text in self.steps if name == instruction]

    def text(self, instruction: str) -> str:
        """The text of an instruction that occurs only once."""
        (found,) = self.texts(instruction)
        return found

    def words(self, instruction: str) -> list[str]:
        """The words of an instruction in JSON."""
        found: list[str] = json.loads(self.text(instruction))
        return found

    def copies(self) -> list[tuple[dict[str, str], list[str], str]]:
        """Every ``COPY``: its flags, its sources, its destination."""
        found = []
        for text in self.texts("COPY"):
            words = shlex.split(text)
            flags = dict(word[2:].split("=") for word in words if word.startswith("--"))
            *sources, destination = (word for word in words if not word.startswith("--"))
            found.append((flags, sources, destination))
        return found


def stages(text: str = "") -> list[Stage]:
    """The stages of Containerfile, or of this text."""
    found: list[Stage] = []
    lines = _CONTINUED.sub(" ", text or markdown.read("Containerfile")).splitlines()
    for line in lines:
        if not line or line.startswith("#"):
            continue
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            match = _FROM.fullmatch(rest)
            assert match is not None, line
            found.append(Stage(match[1], match[2] or ""))
        else:
            found[-1].steps.append((instruction, rest))
    return found
