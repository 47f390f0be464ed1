"""Outside the slices only the modules below know which API they handle, because APIs are declared.

A literal counts if it is the name of an API, or of its request or response.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gateway.apis.table import APIS
from protocol.schema import API_NAMES

GATEWAY = Path("gateway")

SPEAK_TO_BROKERS = ("brokers", "cluster", "catalog", "commands", "checks", "changes")
"""Folders whose requests are the gateway's own."""

WRITTEN = {
    # Logins come before any API of a session.
    "auth/login.py": 1,
    "auth/messages.py": 2,
    # ApiVersions is how versions are agreed, also with brokers and between gateways.
    "tree/far_lanes.py": 3,
    "rules/api_versions.py": 2,
    # Requests of the gateway's own.
    "tree/far_metadata.py": 2,
    "tree/shadow_removal.py": 1,
    "tree/shadow_topics.py": 2,
    "exchanges/descriptions.py": 1,
    "session/own_requests.py": 1,
    # The envelope in which gateways send each other questions.
    "referrals/envelope.py": 2,
    "referrals/peer_wire.py": 1,
}
"""How often a module outside the slices has such a name."""


def names() -> set[str]:
    """Kafka's names of APIs, and the names of the APIs that are served."""
    return {*API_NAMES.values(), *(api.name for api in APIS.values())}


def modules() -> Iterator[Path]:
    for path in sorted(GATEWAY.rglob("*.py")):
        inside = path.relative_to(GATEWAY)
        in_slice = inside.parts[0] == "apis" and len(inside.parts) > 2
        if not in_slice and inside.parts[0] not in SPEAK_TO_BROKERS:
            yield path


def test_api_names_stand_in_slices() -> None:
    known = names()
    found: Counter[str] = Counter()
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                api = node.value.removesuffix("Request").removesuffix("Response")
                found[path.relative_to(GATEWAY).as_posix()] += api in known
    assert {path: count for path, count in found.items() if count} == WRITTEN
