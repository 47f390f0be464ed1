"""gateway.referrals.description: a gateway's description of itself for its peers, and theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.referrals.description import (
    DescribedListener,
    DescribedMount,
    DescribedPeer,
    GatewayDescription,
    UnreadableDescription,
)
from tests.config import config_samples

FAR = "la:tracking:deep"
LISTENER = {"name": "la", "volume": "la", "reach": [], "spelling": "colon"}


def written(directory: Path) -> Config:
    values = config_samples.peer_values(directory)
    la, ny = values["listeners"]
    la |= {"volume": FAR, "reach": [FAR, "la:tracking"], "spelling": "slash"}
    secret = directory / "secret"
    secret.write_text("alice-secret\n")
    users = {"alice": {"file": str(secret)}}
    ny |= {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl": {"mechanisms": ["PLAIN"], "users": users},
    }
    path = directory / "gateway.yaml"
    path.write_text(yaml.safe_dump(values))
    return load_config(path)


def test_what_a_gateway_says_is_read(tmp_path: Path) -> None:
    described = GatewayDescription.of_config(written(tmp_path))
    assert described == GatewayDescription(
        "gw",
        (DescribedMount("la:tracking", 1, "la"), DescribedMount("ny:tracking", 2, "ny")),
        (DescribedPeer("root", "CN=root"),),
        (DescribedPeer("deep", "CN=deep", FAR),),
        (
            DescribedListener("la", FAR, (FAR, "la:tracking"), "slash", "PLAINTEXT"),
            DescribedListener(
                "ny",
                "ny:tracking",
                ("ny:tracking", "la:tracking"),
                "colon",
                "SASL_PLAINTEXT",
                ("PLAIN",),
            ),
        ),
    )
    assert described.numbers == {"la:tracking": 1, "ny:tracking": 2}
    assert GatewayDescription.from_json(described.to_json()) == described


def test_it_says_nothing_that_peers_need_not_know(tmp_path: Path) -> None:
    config = written(tmp_path)
    text = GatewayDescription.of_config(config).to_json().decode()
    assert str(config.clusters[0].bootstrap_servers[0].port) not in text
    assert str(tmp_path) not in text


def test_clients_are_not_led_to_listeners_whose_logins_pass_through(tmp_path: Path) -> None:
    values = config_samples.peer_values(tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("gateway-secret\n")
    sasl = {"mechanism": "PLAIN", "username": "gateway", "password": {"file": str(secret)}}
    values["clusters"][0]["security"] = {"protocol": "SASL_PLAINTEXT", "sasl": sasl}
    values["listeners"][0] |= {
        "reach": ["la:tracking"],
        "security_protocol": "SASL_PLAINTEXT",
        "sasl": {"mechanisms": ["PLAIN"], "pass_through": True},
    }
    described = GatewayDescription.of_config(config_samples.tree(tmp_path, **values))
    assert [one.name for one in described.listeners] == ["ny"]


def test_later_gateways_may_say_more(tmp_path: Path) -> None:
    described = GatewayDescription.of_config(written(tmp_path))
    content = json.loads(described.to_json())
    content["more"] = content["listeners"][0]["more"] = {"a": 1}
    assert GatewayDescription.from_json(json.dumps(content).encode()) == described


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"gateway": "gw\x1b[2J"}, "has over 4,096 characters in gateway, or some that cannot be"),
        ({"gateway": "g" * 4_097}, "has over 4,096 characters in gateway, or some that cannot be"),
        ({"gateway": 1}, "lacks gateway, or has something else there"),
        ({"mounts": {}}, "lacks mounts, or has something else there"),
        ({"mounts": ["la"]}, "lacks mount, or has something else there"),
        ({"mounts": [{"mount": "la", "number": True}]}, "lacks number, or has something else th"),
        ({"listeners": {}}, "lacks listeners, or has something else there"),
        ({"listeners": ["la"]}, "lacks name, or has something else there"),
        ({"parents": [None]}, "lacks name, or has something else there"),
        ({"parents": [None] * 100_001}, "has over 100,000 parents"),
        ({"children": [{"name": "a", "certificate": "CN=a"}]}, "lacks mount, or has something els"),
        ({"listeners": [{**LISTENER, "reach": [1]}]}, "has something else than text in reach"),
        ({"listeners": [{**LISTENER, "reach": ["a\nb"]}]}, "has over 4,096 characters in reach"),
    ],
)
def test_descriptions_that_are_none(change: dict[str, Any], reason: str) -> None:
    content = json.loads(GatewayDescription("gw", (DescribedMount("la", 1),)).to_json()) | change
    with pytest.raises(UnreadableDescription) as caught:
        GatewayDescription.from_json(json.dumps(content).encode())
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 100_000, b"{"])
def test_bytes_that_are_no_json(data: bytes) -> None:
    with pytest.raises(UnreadableDescription, match="is no JSON"):
        GatewayDescription.from_json(data)
    with pytest.raises(UnreadableDescription, match="lacks gateway"):
        GatewayDescription.from_json(b"[]")
