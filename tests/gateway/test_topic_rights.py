"""Only the views decide about a broker's topic by its flat name alone.

A client may have rights under one of a topic's names and not under another, because a link has
rights of its own. So others ask about the name that the client wrote (``topic``, ``subscribed``),
about its id (``by_id``), or for the name to show (``shown``, ``listed``).
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

GATEWAY = Path("gateway")

OF_VIEWS = ("flat_denial", "flat_resource", "name_of")
"""They know of one name of a topic alone."""

WRITTEN = {
    # Of a topic to be created, which has no link yet.
    ("apis/topics/metadata.py", "flat_resource"): 1,
    ("apis/groups/streams_group_heartbeat.py", "flat_resource"): 1,
    # Of a topic; links are decided beside it.
    ("changes/topics/delete_topics.py", "flat_resource"): 1,
}
"""How often a module outside the views uses one of them on an access or a view."""


def _is_of_view(used: ast.Attribute) -> bool:
    """Whether an attribute is one of a view or an access, by the name of its owner: topic indexes
    and volumes have a ``name_of``, too."""
    if used.attr != "name_of":
        return used.attr in OF_VIEWS
    owner = ast.unparse(used.value).rpartition(".")[2].strip("_")
    return owner in ("view", "access", "thawed")


def test_flat_names_are_decided_by_views() -> None:
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted(GATEWAY.rglob("*.py")):
        inside = path.relative_to(GATEWAY)
        if inside.parts[0] == "views":
            continue
        source = path.read_text()
        if not any(f".{name}" in source for name in OF_VIEWS):
            continue  # parsing every module would take seconds
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Attribute) and _is_of_view(node):
                found[inside.as_posix(), node.attr] += 1
    assert found == WRITTEN
