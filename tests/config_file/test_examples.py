"""The example configurations of config/ load."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest

from gateway.config.addresses import Address
from gateway.config.models import Config
from gateway.config.policies import Range
from gateway.config.reach import reached_clusters
from gateway.config_file.loading import load_config
from gateway.config_file.parts import Parts
from gateway.config_file.rules import port_claims
from tests.auth.tokens import jwk, key_set
from tests.tls.pki import Pki

EXAMPLES = Path(__file__).parents[2] / "config"

GATEWAYS = ("root", "la", "la-tracking")
"""The gateways of a tree, an example each."""


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Config]:
    """Loads the example of a name. The environment variables and files that examples read exist."""
    pki = Pki(tmp_path)
    server = pki.ours.client("locked", password="open sesame")  # noqa: S106
    files = {
        "brokers-ca.pem": pki.ours.file.read_text(),
        "services-ca.pem": pki.ours.file.read_text(),
        "kafka.example.pem": server.certificate.read_text(),
        "kafka.example.key": server.key.read_text(),
        "key-password": "open sesame\n",
        "jwks.json": key_set(jwk("ES256")),
        "gateways-ca.pem": pki.ours.file.read_text(),
    }
    for gateway in GATEWAYS:
        own = pki.ours.peer(gateway)
        files |= {
            f"{gateway}.pem": own.certificate.read_text(),
            f"{gateway}.key": own.key.read_text(),
        }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("BROKER_PASSWORD", "secret")

    def loaded(name: str) -> Config:
        path = tmp_path / name
        text = (EXAMPLES / name).read_text()
        for directory in ("/etc/kafka-gateway", "./tls"):
            text = text.replace(directory, str(tmp_path))
        path.write_text(text)
        return load_config(path)

    return loaded


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("*.yaml")))
def test_examples_load_and_survive_the_way_to_a_worker(
    name: str, example: Callable[[str], Config]
) -> None:
    config = example(name)
    assert "\n" not in config.to_json()
    assert Config.from_json(config.to_json()) == config


def test_the_examples_are_there() -> None:
    names = {path.name for path in EXAMPLES.glob("*.yaml")}
    assert names == {
        "quickstart.yaml",
        "home-namespaces.yaml",
        "workers.yaml",
        "secured.yaml",
        "policies.yaml",
        "tree.yaml",
        "mirror-site-a.yaml",
        "mirror-site-b.yaml",
        "mirror-tree.yaml",
        *(f"tree-{gateway}.yaml" for gateway in GATEWAYS),
    }


def test_an_example_has_two_clusters_in_one_tree() -> None:
    config = load_config(EXAMPLES / "tree.yaml")
    assert [(one.mount, one.number) for one in config.clusters] == [
        ("la:tracking", 1),
        ("ny:tracking", 2),
    ]
    reach = [[one.name for one in reached_clusters(config, each)] for each in config.listeners]
    both = ["los-angeles", "new-york"]
    assert reach == [both, both[::-1], ["new-york"]]
    la, ny = map(config.of_volume, config.clusters)
    assert (la.policies.everywhere.partitions, ny.policies.everywhere.partitions) == (
        Range(max=48),
        None,
    )


def test_three_examples_are_gateways_of_one_tree(example: Callable[[str], Config]) -> None:
    """Their peers, mounts and listeners agree, and they run on the same machine."""
    gateways = {name: example(f"tree-{name}.yaml") for name in GATEWAYS}
    assert list(gateways) == [config.gateway_id for config in gateways.values()]
    volumes = {one.mount: one.number for each in gateways.values() for one in each.clusters}
    assert volumes == {"": 1, "la": 2, "la:tracking": 3}
    addresses = {}
    for name, config in gateways.items():
        assert {one.volume for one in config.listeners} == {*volumes}
        assert all({*(one.reach or ())} == {*volumes} for one in config.listeners)
        assert config.tree is not None
        assert config.tree.listener is not None
        addresses[name] = (Address(config.tree.listener.bind, config.tree.listener.port),)
        for child in config.tree.children:
            child_tree = gateways[child.name].tree
            assert child_tree is not None
            assert name in [parent.name for parent in child_tree.parents]
            assert child.mount in [one.mount for one in gateways[child.name].clusters]
    for config in gateways.values():
        assert config.tree is not None
        for peer in config.tree.peers:
            assert (peer.addresses, peer.subject) == (addresses[peer.name], f"CN={peer.name}")
    claims = [one for each in gateways.values() for one in port_claims(Parts.of(each))]
    assert [one for one, other in combinations(claims, 2) if one.meets(other)] == []


def test_the_quickstart_has_the_three_kinds_of_listeners() -> None:
    config = load_config(EXAMPLES / "quickstart.yaml")
    kinds = [(listener.spelling, listener.home) for listener in config.listeners]
    assert kinds == [("colon", None), ("colon", "team-a"), ("legal", None)]


def test_an_example_lists_namespaces_to_administrators() -> None:
    config = load_config(EXAMPLES / "home-namespaces.yaml")
    lists = {each.name: (each.list_namespaces, each.list_subtree) for each in config.listeners}
    assert lists == {"payments": (False, True), "search": (False, None), "platform": (True, None)}


def test_an_example_asks_who_is_there(example: Callable[[str], Config]) -> None:
    """Clients authenticate on every listener, and there is a super user."""
    config = example("secured.yaml")
    protocols = [listener.security_protocol for listener in config.listeners]
    assert protocols == ["SASL_SSL", "SSL"]
    assert config.clusters[0].security.protocol == "SASL_SSL"
    assert config.authorization is not None
    assert config.authorization.super_users == ("User:platform",)
    assert config.audit.directory is not None
