"""The topic or namespace that a client's resource stands for, and how namespaces are spelled for
it."""

from __future__ import annotations

import pytest

from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.resources import (
    NamespaceResource,
    TopicResource,
    in_logical_names,
    relative_path,
    resource_named,
    second_spelling,
)
from gateway.changes.base.virtual_configs import without_virtual
from gateway.decision import Denied
from gateway.views.access import Access
from gateway.views.view import View, ViewSettings

SNAPSHOT = Snapshot.of(["org:apache", "team"])


def view(home: str = "", escape: bool = False) -> View:
    return View(ViewSettings("test", home=home, escape=escape), SNAPSHOT)


@pytest.mark.parametrize(
    ("home", "name", "expected"),
    [
        ("", "org:x", TopicResource("org:x", "org..x")),
        ("", "org..x", TopicResource("org..x", "org..x")),
        ("", "org:", NamespaceResource("org:", "org")),
        ("", "org.apache..", NamespaceResource("org.apache..", "org:apache")),
        ("", "missing:", NamespaceResource("missing:", "missing")),
        ("", "missing..", TopicResource("missing..", "missing..")),
        ("", ":", NamespaceResource(":", "")),
        ("org", ":", NamespaceResource(":", "org")),
        ("org", "apache:", NamespaceResource("apache:", "org:apache")),
        ("org", "x", TopicResource("x", "org..x")),
    ],
)
def test_names(home: str, name: str, expected: object) -> None:
    assert resource_named(view(home), 2, name) == expected


@pytest.mark.parametrize(
    ("home", "kind", "name", "code"),
    [
        ("", 4, "1", 31),
        ("", 4, "org:", 31),
        ("", 32, "group", 42),
        ("", 2, "a_b:", 17),
        ("", 2, "a::", 17),
        ("", 2, "missing:x", 3),
        ("org", 2, ":team:", 17),
        ("org", 2, ":team:x", 3),
    ],
)
def test_what_is_rejected(home: str, kind: int, name: str, code: int) -> None:
    found = resource_named(view(home), kind, name)
    assert isinstance(found, Denied)
    assert found.code == code


@pytest.mark.parametrize(
    ("home", "escape", "path", "told"),
    [
        ("", False, "org:apache", "org:apache"),
        ("", False, "", ""),
        ("org", False, "org:apache", "apache"),
        ("org", False, "org", ""),
        ("org", False, "team", None),
        ("org", False, "", None),
        ("org", True, "team", ":team"),
        ("org", True, "", ":"),
    ],
)
def test_relative_paths(home: str, escape: bool, path: str, told: str | None) -> None:
    assert relative_path(view(home, escape), path) == told


def test_keys_for_the_broker() -> None:
    assert without_virtual(None) is None
    assert without_virtual(()) is None
    assert without_virtual(("a", "gateway.topics")) == ("a",)
    assert without_virtual(("gateway.topics",)) == ("retention.ms",)


def test_errors_in_the_client_s_names() -> None:
    topic = TopicResource("apache:y", "org.apache..y")
    denied = Denied(40, "Topic org.apache..y, unlike team..z, at kafka-1:9092.", "broker")
    assert in_logical_names(Access(view("org"), "", ""), denied, topic) == Denied(
        40, "Topic apache:y, unlike (another topic), at (a broker).", "broker"
    )
    assert second_spelling("a").message == "This is already in the request, as 'a'."
