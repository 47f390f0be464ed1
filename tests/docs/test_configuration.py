"""docs/configuration.md: its key table against the models, its example against the gateway."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
import yaml
from annotated_types import Ge, Gt, Le
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from devkit.certificates import Authority
from gateway import exit_codes
from gateway.checks import check
from gateway.checks.peer_findings import AskedPeer, PeerFindings
from gateway.commands.output import table
from gateway.config.models import Config
from gateway.config.policies import PolicyBlock
from gateway.config.tree import TreeSettings
from gateway.config_file.loading import load_config
from gateway.config_file.parts import Parts
from gateway.config_file.rules import port_claims
from gateway.referrals.description import DescribedMount, GatewayDescription
from tests.docs import markdown

PAGE = markdown.read("docs/configuration.md")

# The page's names of the defaults that depend on another setting or on the machine.
COMPUTED = {
    "gateway_id": "the host's name",
    "listeners[].advertised_host": "`bind`",
    "listeners[].broker_base_port": "`port` + 1",
    "listeners[].sasl.oauthbearer.required_claims": "`{}`",
    "listeners[].max.connections.per.ip.overrides": "`{}`",
    "authorization.configs": "`{}`",
    "policies.namespaces": "`{}`",
    "tree.parents[].principals": "`{}`",
    "tree.children[].principals": "`{}`",
    "tree.numbers": "`{}`",
    "clusters[].policies.namespaces": "`{}`",
}


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every key as the page writes it; of a section that is no list only its keys."""
    for name, field in model.model_fields.items():
        key = prefix + (field.alias or name)
        inner, is_list = _inner_model(field.annotation)
        if inner is None or is_list:
            yield key, field
        if inner is not None:
            yield from keys(inner, f"{key}[]." if is_list else f"{key}.")


def _inner_model(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """The model of a section (or of a mapping's values), or of a list's items; and which of
    both."""
    if annotation is PolicyBlock:
        # docs/policies.md has its keys: tests/docs/test_policies.py.
        return None, False
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for argument in get_args(annotation):
        inner, is_list = _inner_model(argument)
        if inner is not None:
            return inner, is_list or get_origin(annotation) is tuple
    return None, False


KEYS = dict(keys(Config))
ROWS = {markdown.code(row[0]): row[1:] for row in markdown.table(PAGE, "key")}


def test_every_key_has_its_row_in_order() -> None:
    assert list(ROWS) == list(KEYS)
    assert "listeners[].home" in KEYS
    assert "socket.request.max.bytes" in KEYS


@pytest.mark.parametrize("key", KEYS)
def test_default(key: str) -> None:
    shown, field = ROWS[key][1], KEYS[key]
    if key in COMPUTED:
        assert field.default_factory is not None
        assert shown == COMPUTED[key]
    elif field.is_required():
        assert shown == "required"
    else:
        assert field.default_factory is None
        assert markdown.code(shown) == default_text(field.default)


def default_text(value: object) -> str:
    """A default as it would be written in YAML."""
    if isinstance(value, str | Path):
        return str(value)
    if isinstance(value, PolicyBlock):
        return json.dumps(value.model_dump(exclude_unset=True))
    return json.dumps(value)


def test_computed_defaults(tmp_path: Path) -> None:
    config = load_config(example(tmp_path))
    (listener,) = config.listeners
    assert listener.advertised_host == listener.bind
    assert listener.broker_base_port == listener.port + 1


@pytest.mark.parametrize("key", KEYS)
def test_bounds(key: str) -> None:
    """A number's bounds stand in the column of its type."""
    shown = ROWS[key][0]
    for bound in KEYS[key].metadata:
        if isinstance(bound, Ge):
            assert str(bound.ge) in shown
        elif isinstance(bound, Le):
            assert str(bound.le) in shown
        elif isinstance(bound, Gt):
            assert f"above {bound.gt}" in shown


def example(directory: Path) -> Path:
    """The page's smallest configuration, as a file."""
    block, *_ = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    path = directory / "gateway.yaml"
    path.write_text(block.text)
    return path


def test_the_example_gives_the_table_shown(tmp_path: Path) -> None:
    plans = check.plan(load_config(example(tmp_path)))
    assert table(check.plan_rows(plans)) in [block.text for block in markdown.blocks(PAGE)]


def test_the_tree_gives_the_table_shown() -> None:
    plans = check.plan(load_config(markdown.ROOT / "config" / "tree.yaml"))
    lines = "\n".join(table(check.plan_rows(plans)).splitlines()[:3])
    assert lines in [block.text.rstrip() for block in markdown.blocks(PAGE)]


def test_the_peers_of_an_example_give_the_table_shown() -> None:
    gateways = {
        each["gateway_id"]: each
        for name in ("root", "la", "la-tracking")
        for each in [yaml.safe_load((markdown.ROOT / "config" / f"tree-{name}.yaml").read_text())]
    }
    tree = TreeSettings.model_validate(gateways["la"]["tree"] | {"listener": None}, strict=False)
    seconds = {"root": 0.0031, "la-tracking": 0.0028}
    asked = []
    for peer in tree.peers:
        ((path, number),) = [
            (one["mount"], one["number"]) for one in gateways[peer.name]["clusters"]
        ]
        mount = DescribedMount(path.strip("/").replace("/", ":"), number)
        asked.append(
            AskedPeer(
                (((), peer),),
                peer.addresses[0],
                (),
                seconds[peer.name],
                GatewayDescription(gateways[peer.name]["gateway_id"], (mount,)),
            )
        )
    (rows,) = PeerFindings(asked=asked).tables()
    assert table(rows) in [block.text for block in markdown.blocks(PAGE)]


def test_the_limits_shown_are_limits(tmp_path: Path) -> None:
    least, limits, *_ = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    values = yaml.safe_load(least.text) | yaml.safe_load(limits.text)
    path = tmp_path / "gateway.yaml"
    path.write_text(yaml.safe_dump(values))
    (listener,) = load_config(path).listeners
    assert (listener.max_connections, listener.max_connections_per_ip) == (20_000, 200)
    assert listener.max_connections_per_ip_overrides == {"192.0.2.7": 5_000}
    assert listener.max_connection_creation_rate == 500


def test_the_tree_shown_is_one_with_the_ports_told(tmp_path: Path) -> None:
    *_, tree, _ = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    path = tmp_path / "gateway.yaml"
    path.write_text(tree.text)
    claims = port_claims(Parts.of(load_config(path)))
    ports = [(one.first, one.last) for one in claims if one.key[-1] == "broker_base_port"]
    assert ports == [(9193, 9208), (9293, 9300)]


def test_the_gateway_shown_is_one_of_a_tree(tmp_path: Path) -> None:
    *_, shown = (block for block in markdown.blocks(PAGE) if block.language == "yaml")
    authority = Authority(tmp_path / "peers")
    own = authority.peer("la")
    text = shown.text
    for name, file in (
        ("la.pem", own.certificate),
        ("la.key", own.key),
        ("gateways-ca.pem", authority.file),
    ):
        text = text.replace(f"./tls/{name}", str(file))
    path = tmp_path / "gateway.yaml"
    path.write_text(text)
    config = load_config(path)
    assert config.tree is not None
    example = yaml.safe_load((markdown.ROOT / "config" / "tree-la.yaml").read_text())
    assert [one.name for one in config.tree.peers] == [
        one["name"] for one in (*example["tree"]["parents"], *example["tree"]["children"])
    ]
    assert [each.name for each in config.listeners] == [one["name"] for one in example["listeners"]]


def test_exit_statuses() -> None:
    rows = markdown.table(PAGE, "exit status")
    known = {exit_codes.OK, exit_codes.FAILED, exit_codes.USAGE, exit_codes.CONFIG}
    assert {int(row[0]) for row in rows} == known
