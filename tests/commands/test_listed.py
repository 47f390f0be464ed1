"""gateway.commands.namespaces: names as listed and names as sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.snapshot import Snapshot
from gateway.commands.errors import UsageError
from gateway.commands.namespaces import (
    Name,
    is_default,
    name_of_listed,
    namespace_argument,
    namespace_text,
    possible_namespaces,
    request_name,
    topic_argument,
)
from gateway.names import InvalidName, LogicalName
from gateway.views.view import View, ViewSettings

EXISTING = {"org", "org:apache", "a-b"}


@pytest.mark.parametrize(
    ("listed", "name"),
    [
        ("orders", LogicalName("", "orders")),
        ("org:orders", LogicalName("org", "orders")),
        ("org:apache:orders", LogicalName("org:apache", "orders")),
        ("org..orders", LogicalName("org", "orders")),
        ("org.apache..orders", LogicalName("org:apache", "orders")),
        ("nobody..orders", LogicalName("", "nobody..orders")),
        (":org..orders", LogicalName("", "org..orders")),
        (":orders", LogicalName(":", "orders")),
        (":nobody..orders", LogicalName(":", "nobody..orders")),
        (":org:orders", LogicalName(":org", "orders")),
        (":org:", None),
        ("nobody..", LogicalName("", "nobody..")),
        ("org:", None),
        ("org:apache:", None),
        ("org..", None),
        ("org.apache..", None),
    ],
)
def test_where_a_listed_name_is(listed: str, name: LogicalName | None) -> None:
    assert name_of_listed(listed, EXISTING) == name


def test_possible_namespaces() -> None:
    listed = ["a", "org..x", "a.b..c", "a:b", ":d..e", "org:", "f.."]
    assert possible_namespaces(listed) == {"org", "a:b", "d", "f"}


TIER = st.sampled_from(["org", "apache", "a-b", "v1.2", "-"])
TOPIC = st.sampled_from(["orders", "a..b", "org..x", "org.apache..y", "..z", "-", "a_b"])
NAMES = st.builds(LogicalName, st.lists(TIER, max_size=2).map(":".join), TOPIC)


@given(NAMES, st.sampled_from(["colon", "legal"]), st.lists(NAMES, max_size=3))
def test_what_is_listed_by_a_view_is_placed_and_sent_back(
    name: LogicalName, spelling: str, others: list[LogicalName]
) -> None:
    """Any name that a listener without a home lists is resolved again as the commands send it."""
    namespaces = [one.namespace for one in (name, *others) if one.namespace]
    snapshot = Snapshot.of(namespaces)
    settings = ViewSettings("l", "legal" if spelling == "legal" else "colon")
    view = View(settings, snapshot)
    try:
        flat = snapshot.flat_of(name)
    except InvalidName:
        return
    assert flat is not None
    shown = view.spell(flat.encode())
    if shown is None:
        return
    existing = set(snapshot.namespaces)
    found = name_of_listed(shown.decode(), possible_namespaces([shown.decode()]) & existing)
    assert found == snapshot.owner(flat)
    assert found is not None
    assert view.parse(request_name(found, existing)) == found


@pytest.mark.parametrize(
    ("text", "path"),
    [("org", "org"), ("org:", "org"), ("", ""), (":", ":"), (":a:", ":a"), ("a:b:", "a:b")],
)
def test_namespace_arguments(text: str, path: str) -> None:
    assert namespace_argument(text) == path


def test_the_default_namespaces() -> None:
    assert [is_default(path) for path in ("", ":", "org", ":org")] == [True, True, False, False]
    assert namespace_text("") == "the default namespace"
    assert namespace_text(":") == "the root's default namespace"
    assert namespace_text(":org") == "namespace ':org'"


@given(NAMES, st.lists(NAMES, max_size=3))
def test_what_lies_outside_a_home_is_placed_and_sent_back(
    name: LogicalName, others: list[LogicalName]
) -> None:
    """Any name that a listener lists that has a home and lets names out of it."""
    snapshot = Snapshot.of([*(one.namespace for one in (name, *others) if one.namespace), "home"])
    view = View(ViewSettings("l", home="home", escape=True), snapshot)
    for held in (name, LogicalName("home", name.topic)):
        try:
            flat = snapshot.flat_of(held)
        except InvalidName:
            return
        assert flat is not None
        shown = view.spell(flat.encode())
        if shown is None:
            return
        # No namespace below the home exists.
        found = name_of_listed(shown.decode(), ())
        assert found is not None
        assert view.parse(request_name(found)) == snapshot.owner(flat)


def test_topic_arguments() -> None:
    assert topic_argument("a", None) == LogicalName("", "a")
    assert topic_argument("a", "org") == LogicalName("org", "a")
    assert topic_argument("org:x:a", None) == LogicalName("org:x", "a")
    assert topic_argument(":a", None) == Name(":", "a")
    assert topic_argument("a", ":") == Name(":", "a")
    assert topic_argument(":org:a", None) == Name(":org", "a")
    for text in (":a", ":org:a", "org:a", "a"):
        assert str(topic_argument(text, None)) == text
    for topic, namespace in (("", None), ("org:", None), ("org:a", "org"), ("org:a", "")):
        with pytest.raises(UsageError):
            topic_argument(topic, namespace)
