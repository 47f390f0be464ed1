"""ApiVersions before a login: made once for each answer of the broker's."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.connections.admission import EarlyVersions, _served
from protocol import messages
from protocol.messages import element_class, make
from tests.connections.fake_tree import FakeTree


def served(*api_keys: int) -> Any:
    cls = messages.message_class("ApiVersionsResponse", 4)
    entry = element_class(cls, "api_keys")
    entries = tuple(
        make(entry, {"api_key": key, "min_version": 0, "max_version": 9}) for key in api_keys
    )
    return make(cls, {"api_keys": entries})


def keys(body: bytes, version: int) -> set[int]:
    response = messages.parse("ApiVersionsResponse", version, body)
    return {entry.api_key for entry in response.api_keys}


@pytest.mark.parametrize("version", range(5))
def test_what_a_broker_said_is_told(version: int) -> None:
    told = served(1, 3)
    versions = EarlyVersions(lambda: told)
    assert {1, 3, 17, 36} <= keys(versions.body(version), version)
    assert versions.body(version) is versions.body(version)


def test_what_another_says_is_told_from_then_on() -> None:
    said = [served(1)]
    versions = EarlyVersions(lambda: said[-1])
    assert 3 not in keys(versions.body(4), 4)
    said.append(served(1, 3))
    assert 3 in keys(versions.body(4), 4)


def test_what_another_cluster_of_the_tree_said_while_the_own_one_was_never_seen() -> None:
    """Clients log in at a listener whose cluster was down when the gateway started."""
    tree = FakeTree()
    la, ny = tree.volumes
    versions = EarlyVersions(lambda: _served(la, tree.volumes))
    assert {17, 36} <= keys(versions.body(4), 4)
    tree.clusters["ny"].served = served(1, 3)
    assert {1, 3} <= keys(versions.body(4), 4)
    tree.clusters["la"].served = served(1)
    assert 3 not in keys(versions.body(4), 4)
    assert _served(ny, tree.volumes) is tree.clusters["ny"].served
