"""docs/names.md: its examples against the code."""

from __future__ import annotations

import pytest

from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from gateway.mounts import Mount, Mounts
from gateway.names import RESERVED_PREFIX, RESERVED_TOPICS, LogicalName, decode, encode
from gateway.rules.access import check_creation
from gateway.views.view import View, ViewSettings
from tests.docs import markdown

PAGE = markdown.read("docs/names.md")
EXAMPLES = [[markdown.code(cell) for cell in row] for row in markdown.table(PAGE, "logical")]
ABSOLUTE = [
    (spelled, *row[1:])
    for row in markdown.table(PAGE, "absolute name")
    for spelled in markdown.spans(row[0])
]
ANSWERS = {row[0]: row[1] for row in markdown.table(PAGE, "the name")}


@pytest.mark.parametrize(("logical", "flat"), EXAMPLES)
def test_the_encoding_shown(logical: str, flat: str) -> None:
    namespace, _, topic = logical.rpartition(":")
    assert encode(LogicalName(namespace, topic)) == flat
    assert str(decode(flat)) == logical


@pytest.mark.parametrize(("spelled", "meant"), ABSOLUTE)
def test_the_absolute_names_shown(spelled: str, meant: str) -> None:
    tree = Mounts([Mount("ny", 1, "ny"), Mount("la:tracking", 2, "la")])
    settings = ViewSettings("x", mounts=tree, volume="la:tracking", listener_volume="ny")
    view = View(settings, Snapshot.of(["search"]))
    (name,) = markdown.spans(meant)
    if meant.startswith("namespace"):
        assert view.namespace_named(spelled) == name
    elif spelled.endswith("app"):
        assert view.group_to_broker(spelled.encode()) == name.encode()
        assert view.volume_of_group(spelled.encode()) == "la:tracking"
    else:
        assert str(view.parse(spelled)) == name
    assert view.volume_of_topic(spelled.encode()) == "la:tracking"


def test_the_slashes_shown() -> None:
    view = View(ViewSettings("x", "slash"), Snapshot.of(["search"]))
    assert str(view.parse("search/clicks")) == "search:clicks"
    assert view.spell(b"search..clicks") == b"search/clicks"
    assert view.namespace_named("search/") == "search"
    denied = view.resolve(b"search:clicks/x")
    assert isinstance(denied, Denied)
    assert denied.illegal


def test_the_reserved_names_shown() -> None:
    (shown,) = (markdown.spans(what) for what in ANSWERS if what.endswith("as a topic"))
    assert set(shown) == {f"{RESERVED_PREFIX}…", *RESERVED_TOPICS}


def test_the_collision_shown() -> None:
    (name,) = (markdown.spans(what)[0] for what in ANSWERS if "would confuse with" in what)
    view = View(ViewSettings("colon"), Snapshot.of(["team-a"]))
    denied = check_creation(view, name)
    assert denied is not None
    assert denied.rule == "collision"


def test_the_home_shown() -> None:
    home = View(ViewSettings("home", home="team-a"), Snapshot.of(["team-a:sub"]))
    assert str(home.parse("orders")) == "team-a:orders"
    assert str(home.parse("sub:orders")) == "team-a:sub:orders"
    assert str(home.parse("a..b")) == "team-a:a..b"
    assert home.group_to_broker(b"app") == b"team-a..app"
    for outside in (b":orders", b"..orders"):
        assert isinstance(home.resolve(outside), Denied)
    for shown in ("`sub:orders`", "`team-a..app`", "`home: team-a`"):
        assert shown in PAGE
