from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.config.models import Config
from gateway.referrals.routing import Here, Routes, Ways

# The gateway of la:tracking and of la:tracking:ads, with two children and two parents.
ROUTES = Routes(
    own=["la:tracking", "la:tracking:ads"],
    children=[
        ("search", "la:tracking:search"),
        ("spare", "la:tracking:search"),
        ("deep", "la:tracking:ads:deep:er"),
        ("beside", "la:payments"),
    ],
    parents=["top", "other-top"],
)
UP = Ways(("top", "other-top"))
NOBODY = Ways(())


@pytest.mark.parametrize(
    ("path", "way"),
    [
        ("la:tracking", Here("la:tracking")),
        ("la:tracking:x", Here("la:tracking")),
        ("la:tracking:x:y:z", Here("la:tracking")),
        ("la:tracking:ads", Here("la:tracking:ads")),
        ("la:tracking:ads:x", Here("la:tracking:ads")),
        ("la:tracking:ads:deep", Here("la:tracking:ads")),
        ("la:tracking:ads:deep:er", Ways(("deep",))),
        ("la:tracking:ads:deep:er:x", Ways(("deep",))),
        ("la:tracking:adsx", Here("la:tracking")),
        ("la:tracking:search", Ways(("search", "spare"))),
        ("la:tracking:search:x", Ways(("search", "spare"))),
        ("la:payments", Ways(("beside",))),
        ("la:paymentsx", UP),
        ("la:trackingx", UP),
        ("la", UP),
        ("ny", UP),
        ("", UP),
    ],
)
def test_the_longest_mount_has_a_path_and_all_else_goes_up(path: str, way: Here | Ways) -> None:
    assert ROUTES.of(path) == way


@pytest.mark.parametrize(
    ("path", "came_from", "way"),
    [
        # From a parent it goes down or ends here, and never up.
        ("ny", "top", NOBODY),
        ("la", "other-top", NOBODY),
        ("la:payments:x", "top", Ways(("beside",))),
        ("la:tracking:x", "top", Here("la:tracking")),
        # From a child it goes up, or down to another child, and never back.
        ("ny", "beside", UP),
        ("la:payments", "beside", NOBODY),
        ("la:payments", "deep", Ways(("beside",))),
        ("la:tracking:search", "search", Ways(("spare",))),
        ("la:tracking", "beside", Here("la:tracking")),
    ],
)
def test_a_question_of_a_peer(path: str, came_from: str, way: Here | Ways) -> None:
    assert ROUTES.of(path, came_from) == way


def test_without_parents_nobody_has_the_rest() -> None:
    routes = Routes(["la"], [("ny", "ny")], [])
    assert routes.of("tokyo") == NOBODY
    assert routes.of("tokyo", "ny") == NOBODY
    assert routes.of("ny:x") == Ways(("ny",))


def test_a_mount_at_the_root_has_what_no_other_mount_has() -> None:
    here = Routes([""], [("ny", "ny")], ["top"])
    assert here.of("") == here.of("la:x") == Here("")
    assert here.of("ny") == Ways(("ny",))
    below = Routes(["la"], [("root", "")], ["top"])
    assert below.of("") == below.of("ny") == Ways(("root",))
    assert below.of("la:x") == Here("la")


def test_an_own_mount_goes_before_a_child_of_the_same_mount() -> None:
    routes = Routes(["la"], [("impostor", "la")], [])
    assert routes.of("la:x") == Here("la")
    assert not routes.may_answer("impostor", "la")


@pytest.mark.parametrize(
    ("peer", "mount", "believed"),
    [
        ("beside", "la:payments", True),
        ("beside", "la:payments:x:y", True),
        ("beside", "la:paymentsx", False),
        ("beside", "la", False),
        ("beside", "ny", False),
        ("beside", "la:tracking", False),
        ("search", "la:tracking:search", True),
        ("spare", "la:tracking:search:x", True),
        ("search", "la:tracking:ads", False),
        ("deep", "la:tracking:ads:deep", False),
        ("top", "ny", True),
        ("other-top", "ny", True),
        ("top", "la", True),
        ("top", "la:tracking", False),
        ("top", "la:tracking:ads", False),
        ("top", "la:tracking:unheard", False),
        ("top", "la:payments", False),
        ("top", "la:payments:x", False),
        ("top", "", True),
        ("stranger", "ny", False),
        ("stranger", "la:payments", False),
        ("", "ny", False),
    ],
)
def test_whose_answers_about_which_mount_are_believed(
    peer: str, mount: str, believed: bool
) -> None:
    assert ROUTES.may_answer(peer, mount) is believed


_tiers = st.lists(st.sampled_from("abc"), max_size=3).map(":".join)


@given(
    st.lists(_tiers, max_size=3, unique=True),
    st.lists(st.tuples(st.sampled_from(["c1", "c2", "c3"]), _tiers), max_size=3),
    st.lists(st.sampled_from(["p1", "p2"]), max_size=2, unique=True),
    _tiers,
    st.sampled_from([None, "c1", "c2", "c3", "p1", "p2"]),
)
def test_any_question_goes_one_way(
    own: list[str],
    children: list[tuple[str, str]],
    parents: list[str],
    path: str,
    came_from: str | None,
) -> None:
    def has(mount: str) -> bool:
        return not mount or f"{path}:".startswith(f"{mount}:")

    routes = Routes(own, children, parents)
    way = routes.of(path, came_from)
    mounts = [mount for mount in (*own, *(mount for _, mount in children)) if has(mount)]
    if mounts:
        longest = max(mounts, key=len)
        below = {name for name, mount in children if mount == longest}
        if longest in own:
            assert way == Here(longest)
            return
        assert isinstance(way, Ways)
        assert set(way.peers) == below - {came_from}
        assert all(routes.may_answer(peer, path) for peer in way.peers)
    else:
        assert way == Ways(() if came_from in parents else tuple(parents))


def config(tree: dict[str, Any] | None, *mounts: str | None) -> Config:
    clusters: list[dict[str, Any]] = [
        {"name": f"c{place}", "bootstrap_servers": ["b:9092"], "node_ids": ["1-2"]}
        for place, _ in enumerate(mounts)
    ]
    for place, mount in enumerate(mounts):
        if mount is not None:
            clusters[place] |= {"mount": mount, "number": place + 1}
    values = {"clusters": clusters, "listeners": [{"name": "main", "port": 9092}], "tree": tree}
    return Config.model_validate_json(json.dumps(values))


def test_the_routes_of_a_configuration() -> None:
    address = ["gateway:9100"]
    tree = {
        "tls": {"certificate": "/tls/own.pem", "key": "/tls/own.key", "ca": "/tls/peers.pem"},
        "parents": [{"name": "top", "addresses": address}],
        "children": [
            {"name": "search", "addresses": address, "mount": "/la/tracking/search"},
            {"name": "pay", "addresses": address, "mount": "la:payments"},
        ],
    }
    routes = Routes.of_config(config(tree, "la:tracking", ":la:ads"))
    assert routes.of("la:tracking:x") == Here("la:tracking")
    assert routes.of("la:ads") == Here("la:ads")
    assert routes.of("la:tracking:search:x") == Ways(("search",))
    assert routes.of("la:payments") == Ways(("pay",))
    assert routes.of("ny") == Ways(("top",))
    assert routes.of("ny", "top") == NOBODY


def test_the_routes_of_a_configuration_without_a_tree() -> None:
    assert Routes.of_config(config(None, None)).of("la") == NOBODY
    routes = Routes.of_config(config(None, "la"))
    assert routes.of("la:x") == Here("la")
    assert routes.of("ny") == NOBODY
