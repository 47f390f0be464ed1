"""devkit.gateway_config."""

from __future__ import annotations

import json
import socket
from itertools import chain
from pathlib import Path

import pytest

from devkit import gateway_config
from devkit.certificates import Authority
from devkit.gateway_config import (
    NODE_IDS,
    Listener,
    PeerGateway,
    TreePlace,
    plan_gateway,
)
from devkit.ports import free_ports
from gateway.config.tree import TreeSettings

_LISTENERS = (
    Listener("colon", "all"),
    Listener("home", "one", home="team-a", escape=True),
    Listener("legal", "all", spelling="legal"),
)


def test_every_listener_has_ports_of_its_own() -> None:
    plan = plan_gateway("h:1,h:2", _LISTENERS, ["team-a"], traffic_log_directory="/log")
    blocks = [
        [entry["port"], *(entry["broker_base_port"] + place for place in range(len(NODE_IDS)))]
        for entry in plan.config["listeners"]
    ]
    ports = [*chain.from_iterable(blocks), plan.metrics_port]
    assert len(set(ports)) == len(ports) == 3 * (1 + len(NODE_IDS)) + 1
    assert plan.bootstrap_servers["home"] == f"127.0.0.1:{blocks[1][0]}"


def test_the_configuration_says_what_was_asked_for() -> None:
    plan = plan_gateway(
        "h:1,h:2",
        _LISTENERS,
        ["team-a", "org"],
        traffic_log_directory="/log",
        workers=3,
        overrides={"drain_seconds": 3},
    )
    config = plan.config
    assert config["clusters"] == [
        {"name": "main", "bootstrap_servers": ["h:1", "h:2"], "node_ids": ["1-8"]}
    ]
    assert config["namespaces"] == ["team-a", "org"]
    assert config["workers"] == 3
    assert config["drain_seconds"] == 3
    assert config["traffic_log"]["directory"] == "/log"
    colon, home, legal = config["listeners"]
    assert "home" not in colon
    assert (home["home"], home["escape"]) == ("team-a", True)
    assert legal["spelling"] == "legal"
    assert not {"list_namespaces", "list_subtree"} & colon.keys()


@pytest.mark.parametrize("listed", [True, False])
def test_what_a_listener_lists_is_passed_on(listed: bool) -> None:
    listener = Listener("a", "all", list_namespaces=listed, list_subtree=not listed)
    plan = plan_gateway("h:1", [listener], [], traffic_log_directory="/log")
    (entry,) = plan.config["listeners"]
    assert (entry["list_namespaces"], entry["list_subtree"]) == (listed, not listed)


def test_security_is_passed_on() -> None:
    sasl = {"mechanisms": ["PLAIN"]}
    listener = Listener("a", "all", security={"security_protocol": "SASL_SSL", "sasl": sasl})
    plan = plan_gateway(
        "h:1", [listener], [], traffic_log_directory="/log", cluster_security={"protocol": "SSL"}
    )
    (entry,), (cluster,) = plan.config["listeners"], plan.config["clusters"]
    assert (entry["security_protocol"], entry["sasl"]) == ("SASL_SSL", sasl)
    assert cluster["security"] == {"protocol": "SSL"}


def test_the_section_of_a_tree_is_one_that_the_gateway_takes(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    peers = [
        PeerGateway("up", 1_001),
        PeerGateway("down", 1_002, "la:tracking", {"User:a": "User:b"}),
    ]
    place = TreePlace(
        "middle", 1_000, authority.peer("middle"), authority.file, peers, {"max_hops": 3}
    )
    settings = TreeSettings.model_validate_json(json.dumps(place.section(tmp_path / "kept")))
    assert settings.listener is not None
    assert (settings.listener.port, settings.max_hops) == (1_000, 3)
    (parent,), (child,) = settings.parents, settings.children
    assert (parent.subject, str(parent.addresses[0])) == ("CN=up", "127.0.0.1:1001")
    assert (child.subject, child.mount) == ("CN=down", "la:tracking")
    assert (parent.principals, child.principals) == ("all", {"User:a": "User:b"})
    assert settings.directory == tmp_path / "kept"
    assert settings.listener_tls.client_ca == authority.file


def test_preferred_ports_are_taken_where_they_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = 2 + len(NODE_IDS)
    monkeypatch.setattr(gateway_config, "PORTS_APART", apart)
    first = free_ports(apart + 1)[0]
    with socket.create_server(("127.0.0.1", first + 3)):
        plan = plan_gateway(
            "h:1", _LISTENERS[:1], [], traffic_log_directory="/log", first_port=first
        )
    (listener,) = plan.config["listeners"]
    assert not first <= listener["port"] < first + apart
    assert plan.metrics_port == first + apart
    again = plan_gateway("h:1", _LISTENERS[:1], [], traffic_log_directory="/log", first_port=first)
    assert again.bootstrap_servers[listener["name"]] == f"127.0.0.1:{first}"
    assert again.config["listeners"][0]["broker_base_port"] == first + 1
