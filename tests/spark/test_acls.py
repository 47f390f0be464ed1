"""spark.acls: ACLs read from an export, and commands that remove exactly the right ACLs."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

import pytest
import yaml

from gateway.acl_model import AclBinding
from gateway.catalog.entities import ResourceAcls
from gateway.catalog.snapshot import Snapshot
from gateway.commands.acl_flags import filters_to_remove
from gateway.commands.acls import COMMAND
from gateway.commands.actions import fill_client_parser
from gateway.commands.catalog.file import export_text
from spark.acls import Acl, CatalogError, Tool, read_acls, removal
from tests.acls.samples import acls as entities

TOOL = Tool("gw:9192")


def acl(text: str) -> Acl:
    """``TOPIC:LITERAL:org:orders ALLOW READ alice``, with a host or without."""
    pattern, permission, operation, user, *host = text.split()
    kind, pattern_type, name = pattern.split(":", 2)
    return Acl(kind, pattern_type, name, permission, operation, f"User:{user}", *host)


def acls_of(acls: ResourceAcls) -> list[Acl]:
    """A catalog's entity as the job reads it."""
    pattern = acls.pattern
    return [
        Acl(
            pattern.type.name,
            pattern.pattern_type.name,
            pattern.name,
            entry.permission.name,
            entry.operation.name,
            entry.principal,
            entry.host,
        )
        for entry in acls.entries
    ]


def test_texts_are_the_gateways() -> None:
    snapshot = Snapshot().apply(
        entities(["TOPIC:LITERAL:org: ALLOW READ alice", "GROUP:PREFIXED:g DENY ALL b 10.0.0.1"]),
        1,
    )
    for acls in snapshot.acls.values():
        [one] = acls_of(acls)
        [entry] = acls.entries
        assert one.text == str(AclBinding(acls.pattern, entry))


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_an_export_is_read(tmp_path: Path, suffix: str) -> None:
    lines = [
        "TOPIC:LITERAL:org:orders ALLOW READ alice",
        "TOPIC:LITERAL:* DENY ALL O'Hara 10.0.0.1",
    ]
    snapshot = Snapshot().apply(entities(lines), 1)
    text = export_text(snapshot)
    path = tmp_path / f"catalog{suffix}"
    path.write_text(json.dumps(yaml.safe_load(text)) if suffix == ".json" else text)
    assert sorted(read_acls(path)) == sorted(acl(line) for line in lines)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[1, 2]", "no export"),
        ("{}", "no export"),
        ("a: [", "cannot be read"),
        ("format: 1\nacls:\n- type: TOPIC\n", "lacks"),
    ],
)
def test_what_is_no_export_is_told_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "catalog.yaml"
    path.write_text(text)
    with pytest.raises(CatalogError, match=says) as raised:
        read_acls(path)
    assert "\n" not in str(raised.value)
    with pytest.raises(CatalogError, match="cannot be read"):
        read_acls(tmp_path / "nowhere.yaml")


def test_commands_are_quoted_and_exact() -> None:
    config = Tool("gw:9192", "admin config.properties")
    words = shlex.split(removal(acl("TOPIC:PREFIXED:org: ALLOW ALTER_CONFIGS O'Hara"), config))
    assert words == [
        *("kafka-acls", "--bootstrap-server", "gw:9192"),
        *("--command-config", "admin config.properties", "--remove", "--force"),
        *("--allow-principal", "User:O'Hara", "--allow-host", "*"),
        *("--operation", "AlterConfigs", "--topic", "org:"),
        *("--resource-pattern-type", "prefixed"),
    ]
    cluster = removal(acl("CLUSTER:LITERAL:kafka-cluster ALLOW CREATE alice 10.0.0.1"), TOOL)
    assert cluster.endswith(
        "--allow-host 10.0.0.1 --operation Create --cluster --resource-pattern-type literal"
    )


def test_the_commands_remove_exactly_these_by_the_gateways_own_flags() -> None:
    """Parsed by `kafka-gateway acls`, which has the flags of kafka-acls."""
    for text in [
        "TOPIC:LITERAL:org:orders ALLOW READ alice",
        "TOPIC:PREFIXED:org: ALLOW DESCRIBE_CONFIGS bob 10.0.0.1",
        "GROUP:LITERAL:g ALLOW READ alice",
        "TRANSACTIONAL_ID:PREFIXED:t ALLOW WRITE alice",
        "CLUSTER:LITERAL:kafka-cluster ALLOW CREATE alice",
    ]:
        one = acl(text)
        words = shlex.split(removal(one, TOOL))[1:]
        [found] = filters_to_remove(parsed(words))
        assert (found.type.name, found.pattern_type.name, found.name) == one.about
        assert (found.principal, found.host) == (one.principal, one.host)
        assert found.operation.name == one.operation


def parsed(words: list[str]) -> argparse.Namespace:
    """The words as parsed by the subcommand ``acls`` of kafka-gateway."""
    parser = argparse.ArgumentParser()
    fill_client_parser(parser, COMMAND)
    return parser.parse_args(words)
