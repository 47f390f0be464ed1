"""Pieces of YAML: values, comments, and settings that are only offered.

A comment begins with ``# ``. A setting that is only offered begins with ``#`` alone, so that
removing that character sets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import yaml

_WIDTH: Final = 1_000_000
_COMMENT_WIDTH: Final = 96


class Flow(list[Any]):
    """A list, or a mapping's items, written in a single line."""

    def __init__(self, values: Any) -> None:
        self.mapping = dict(values) if isinstance(values, Mapping) else None
        super().__init__(values)


class _Dumper(yaml.SafeDumper):
    """Writes ``Flow`` values in flow style, and makes no anchors of its own."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_flow(dumper: yaml.SafeDumper, data: Flow) -> yaml.Node:
    if data.mapping is not None:
        return dumper.represent_mapping("tag:yaml.org,2002:map", data.mapping, flow_style=True)
    items = [_Quoted(each) if isinstance(each, str) else each for each in data]
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)


class _Quoted(str):
    """A text that is always quoted, even if YAML does not need it, as for ``1-3``."""


def _represent_quoted(dumper: yaml.SafeDumper, data: _Quoted) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style='"')


_Dumper.add_representer(Flow, _represent_flow)
_Dumper.add_representer(_Quoted, _represent_quoted)


def dump(values: Mapping[str, Any]) -> str:
    """Keys and values as YAML, in their order."""
    text: str = yaml.dump(
        dict(values),
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_WIDTH,
        default_flow_style=False,
    )
    return text.rstrip("\n")


def offer(values: Mapping[str, Any]) -> str:
    """Keys and values as settings that are only offered."""
    return "\n".join(f"#{line}" for line in dump(values).splitlines())


def item(values: Mapping[str, Any]) -> str:
    """An item of a list that is indented by two."""
    return "  - " + indented(dump(values), 4).lstrip()


def indented(text: str, by: int) -> str:
    """The text, each line indented by ``by`` blanks."""
    return "\n".join(" " * by + line if line else "" for line in text.split("\n"))


def comment(text: str, indent: int = 0) -> str:
    """The text as lines of a comment, wrapped at the width of the file."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            if line and len(line) + 1 + len(word) > _COMMENT_WIDTH - indent:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return "\n".join(f"# {line}" for line in lines)
