"""Homes: which namespace is a principal's own, and that a listener's home confines everyone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.catalog.entities import PrincipalHome
from gateway.catalog.snapshot import Snapshot
from gateway.config.models import Cluster, Listener
from gateway.config.security import PrincipalSettings
from gateway.views.spelling import ViewSettings
from gateway.views.views import home_of, settings_of, view_settings

SNAPSHOT = Snapshot.of(["team-a:sub", "team-b"]).apply([PrincipalHome("User:alice", "team-a")], 2)


def listener(**values: Any) -> Listener:
    return Listener(
        name="plain", port=9092, advertised_host="localhost", broker_base_port=9093, **values
    )


def test_the_catalogs_home_counts_where_the_configuration_says_nothing() -> None:
    configured = {"User:bob": PrincipalSettings(home="team-b")}
    assert home_of(configured, SNAPSHOT, "User:alice") == "team-a"
    assert home_of(configured, SNAPSHOT, "User:bob") == "team-b"
    assert home_of(configured, SNAPSHOT, "User:eve") is None


def test_the_configuration_wins() -> None:
    assert (
        home_of({"User:alice": PrincipalSettings(home="team-b")}, SNAPSHOT, "User:alice")
        == "team-b"
    )


def test_principals_are_told_apart_by_case_and_type() -> None:
    for principal in ("user:alice", "User:Alice", "alice", "User:alice "):
        assert home_of({}, SNAPSHOT, principal) is None


@pytest.mark.parametrize(
    ("home", "list_subtree", "expected"),
    [
        (None, None, ("", True)),
        (None, False, ("", False)),
        ("team-a", None, ("team-a", False)),
        ("team-a", True, ("team-a", True)),
    ],
)
def test_what_a_listener_shows(
    home: str | None, list_subtree: bool | None, expected: tuple[str, bool]
) -> None:
    cluster = Cluster.model_validate(
        {"name": "main", "bootstrap_servers": ("broker:9092",), "node_ids": ("1",)}
    )
    one = listener(home=home, list_subtree=list_subtree, list_namespaces=True)
    shown = view_settings(one, cluster)
    assert (shown.home, shown.list_subtree) == expected
    assert (shown.listener, shown.spelling, shown.list_namespaces) == ("plain", "colon", True)


def test_a_principal_without_a_home_sees_what_its_listener_shows() -> None:
    settings = ViewSettings("plain", "legal", list_namespaces=True)
    assert settings_of(settings, None) is settings


def test_a_home_replaces_the_whole_cluster() -> None:
    settings = ViewSettings("plain", "legal", list_namespaces=True)
    assert settings_of(settings, "team-a") == replace(settings, home="team-a", list_subtree=False)


@pytest.mark.parametrize("home", ["team-b", "team", "team-ab", "team-b:team-a", ""])
def test_a_listeners_home_confines_principals_of_other_homes(home: str) -> None:
    settings = ViewSettings("inner", home="team-a", list_subtree=True)
    assert settings_of(settings, home) == settings


def test_a_home_inside_of_the_listeners_counts() -> None:
    settings = ViewSettings("inner", home="team-a", list_subtree=True)
    assert settings_of(settings, "team-a:sub").home == "team-a:sub"
    assert settings_of(settings, "team-a") == settings
