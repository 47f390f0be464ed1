"""gateway.commands.catalog.file: a catalog is exported, and read again."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given

from gateway.catalog.entities import Gateway
from gateway.catalog.schema.table import KINDS
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog.diff import differences
from gateway.commands.catalog.file import (
    export_text,
    main_kinds,
    read_export,
    read_secrets,
    secret_kinds,
    secrets_text,
)
from gateway.commands.output_files import write_file
from gateway.config.errors import ConfigError
from tests.commands.catalog_samples import catalogs, sample

GOLDEN = """\
# The catalog of kafka-gateway: its namespaces, the topics whose stored name does not say
# everything, ACLs, and the home namespaces of principals. `kafka-gateway catalog import` reads it.
# `format` is this file's own; `catalog_format` is that of the catalog that it was written from.
format: 1
catalog_format: 1
seeded:
- org
- team-a
namespaces:
  org:
    configs:
      cleanup.policy: compact,delete
      retention.ms: '60000'
  org:apache:
    deleting: '2023-11-14T22:13:20.500Z'
  team-a:
    configs:
      segment.ms: '1'
    apply:
    - segment.ms
    apply_since: '2023-11-14T22:13:20.000Z'
topics:
- name: team-a:events
  flat: team-a.events
- name: team-a:orders
  flat: org..orders
  topic_id: 00010203-0405-0607-0809-0a0b0c0d0e0f
  own_configs:
  - retention.ms
  aliases:
  - name: org:orders
    until: '2026-12-01T12:00:00.000Z'
  since: '2023-11-14T22:13:20.000Z'
acls:
- type: TOPIC
  pattern: PREFIXED
  name: 'org:'
  entries:
  - permission: ALLOW
    operation: READ
    principal: User:alice
  - permission: DENY
    operation: ALL
    principal: User:bob
    host: 10.0.0.1
homes:
  User:alice: team-a
"""
SECRETS = """\
# The secrets of a catalog of kafka-gateway: keep this file to yourself.
format: 1
secrets:
  scram:
  - user: alice
    mechanism: SCRAM-SHA-256
    iterations: 4096
    salt: '010101010101010101010101'
    stored_key: '0202020202020202020202020202020202020202020202020202020202020202'
    server_key: '0303030303030303030303030303030303030303030303030303030303030303'
"""
FILE_KINDS = [*main_kinds().values(), *secret_kinds().values()]
HEAD = "format: 1\ncatalog_format: 1\n"


def written(directory: Path, text: str) -> Path:
    path = directory / "catalog.yaml"
    path.write_text(text)
    return path


def test_what_is_written() -> None:
    assert export_text(sample()) == GOLDEN
    assert secrets_text(sample()) == SECRETS


@given(catalogs())
def test_round_trip(snapshot: Snapshot) -> None:
    """Exported, read, and imported into an empty catalog, every entity is unchanged."""
    with tempfile.TemporaryDirectory() as directory:
        imported = read_export(written(Path(directory), export_text(snapshot)))
        credentials = read_secrets(written(Path(directory), secrets_text(snapshot)))
    wanted = [*imported.entities, *credentials]
    found = differences(Snapshot(), wanted, prune=True, now=5, kinds=FILE_KINDS)
    result = Snapshot().apply([one.change for one in found], 1)
    assert (result.namespaces, result.topics) == (snapshot.namespaces, snapshot.topics)
    assert (result.seeded, result.format) == (snapshot.seeded, snapshot.format)
    assert (result.acls, result.homes) == (snapshot.acls, snapshot.homes)
    assert (result.scram, result.links) == (snapshot.scram, snapshot.links)


def test_gateways_are_left_out(tmp_path: Path) -> None:
    imported = read_export(written(tmp_path, export_text(sample())))
    assert not any(isinstance(entity, Gateway) for entity in imported.entities)
    assert len(imported.entities) == 8


def test_every_kind_of_entity_has_its_place() -> None:
    kept = {kind.name for kind in KINDS.values() if kind.section is None}
    assert kept == {"format", "freeze", "gateway", "member", "signing", "volume", "worker"}
    kinds = ["seeded", "namespaces", "topics", "links", "acls", "homes", "client_metrics"]
    assert list(main_kinds()) == kinds
    assert list(secret_kinds()) == ["scram"]


def test_the_least_that_can_be_written(tmp_path: Path) -> None:
    text = "format: 1\ncatalog_format: 1\nnamespaces:\n  org:\n  org:apache: {}\ntopics:\n"
    imported = read_export(written(tmp_path, text))
    assert [str(one) for one in imported.entities] == [
        str(namespace) for namespace in Snapshot.of(["org:apache"]).namespaces.values()
    ]


def acls(**changed: str) -> str:
    """A file with a single ACL, of which some fields are ``changed``."""
    entry = {"permission": "ALLOW", "operation": "READ", "principal": "User:a", "host": "'*'"}
    entry |= {name: value for name, value in changed.items() if name in entry}
    fields = {"type": "TOPIC", "pattern": "LITERAL", "name": "x", "entries": f"[{flow(entry)}]"}
    fields |= {name: value for name, value in changed.items() if name in fields}
    return f"{HEAD}acls:\n- {flow(fields)}\n"


def flow(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in fields.items()) + "}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("format: 2", "1: format: is 2, and this software reads 1"),
        ("namespaces: {}", "1: has no 'format'; add it"),
        ("format: 1", "1: has no 'catalog_format'; add it"),
        ("format: 1\ncatalog_format: x", "2: catalog_format: must be a whole number"),
        ("format: 1\ncatalog_format: 1\nnamespace: {}", "3: namespace: unknown key 'namespace'; "),
        (
            "format: 1\ncatalog_format: 1\nnamespaces:\n  a_b: {}\n  c: {}\n",
            "4: namespaces.a_b: tier 'a_b' of namespace 'a_b' is not one or more of",
        ),
        (
            "format: 1\ncatalog_format: 1\nnamespaces:\n  a: {config: {}}\n",
            "4: namespaces.a.config: unknown key 'config'; did you mean 'configs'?",
        ),
        (
            "format: 1\ncatalog_format: 1\nnamespaces:\n  a:\n    configs:\n      b: 1\n",
            "6: namespaces.a.configs.b: must be text; put it in quotes",
        ),
        (
            "format: 1\ncatalog_format: 1\nnamespaces:\n  a: {deleting: soon}\n",
            "4: namespaces.a.deleting: is no time; write it like 2026-12-01T10:00:00Z",
        ),
        ("format: 1\ncatalog_format: 1\ntopics:\n- flat: a\n", "4: topics[0]: has no 'name'"),
        ("format: 1\ncatalog_format: 1\ntopics:\n- name: a\n", "4: topics[0]: has no 'flat'"),
        (
            "format: 1\ncatalog_format: 1\ntopics:\n- {name: a, flat: b}\n- {name: c, flat: b}\n",
            "5: topics[1]: 'b' is there already, on line 4; keep one of the two",
        ),
        (
            "format: 1\ncatalog_format: 1\ntopics:\n- {name: a, flat: b, topic_id: c}\n",
            "4: topics[0].topic_id: is no topic id",
        ),
        (
            "format: 1\ncatalog_format: 1\ntopics:\n- {name: 'a:', flat: b}\n",
            "4: topics[0]: topic name '(empty)' is not allowed; correct it",
        ),
        (
            "format: 1\ncatalog_format: 1\ntopics:\n- {name: a, flat: __consumer_offsets}\n",
            "4: topics[0]: '__consumer_offsets' is no name that a topic can be stored by",
        ),
        (
            "format: 1\ncatalog_format: 1\ntopics:\n- {name: a, flat: b, aliases: [{name: c}]}\n",
            "4: topics[0].aliases[0]: has no 'until'; add it",
        ),
        (f"{HEAD}acls:\n- {{type: TOPIC}}\n", "4: acls[0]: has no 'pattern'; add it"),
        (f"{HEAD}acls: {{}}\n", "3: acls: must be a list"),
        (
            acls(type="ANY"),
            "acls[0].type: is none of TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, "
            "USER; write one of them",
        ),
        (acls(pattern="MATCH"), "acls[0].pattern: is none of LITERAL, PREFIXED; write one"),
        (acls(name="''"), "acls[0].name: is empty; write a name"),
        (acls(entries="[]"), "acls[0].entries: are 0; a pattern has 1 to 5,000"),
        (acls(principal="alice"), "entries[0].principal: is no principal; write it like User:al"),
        (acls(host="''"), "entries[0].host: is empty; write an IP address"),
        (acls(operation="EAT"), "entries[0].operation: is none of ALL, READ, WRITE, "),
        (acls(permission="ANY"), "entries[0].permission: is none of DENY, ALLOW; write"),
        (
            acls() + acls().removeprefix(f"{HEAD}acls:\n"),
            "5: acls[1]: 'TOPIC:LITERAL:x' is there already, on line 4; keep one of the two",
        ),
        (f"{HEAD}homes: {{User:a: a_b}}", "3: homes.User:a: tier 'a_b' of namespace 'a_b' is not"),
        (f"{HEAD}homes: {{User:a: 5}}", "3: homes.User:a: must be text; put it in quotes"),
        ("a: [", "is not YAML: "),
        ("", "1: is empty; kafka-gateway catalog export writes such a file"),
    ],
)
def test_mistakes_are_told_with_file_line_and_key(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_export(path)
    assert str(caught.value).startswith(f"{path}:")
    assert told in str(caught.value)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = "format: 1\ncatalog_format: 1\nnamespaces: {a_: {}, b_: {}}\ntopics: [1, 2]\n"
    with pytest.raises(ConfigError) as caught:
        read_export(written(tmp_path, text))
    assert len(str(caught.value).splitlines()) == 4


def test_secrets_have_a_file_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "secrets.yaml"
    path.touch(mode=0o644)
    text = secrets_text(sample())
    write_file(path, "--secrets-to", text, force=True, owner_alone=True)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_secrets(path) == list(sample().scram.values())
    assert read_secrets(written(tmp_path, secrets_text(Snapshot()))) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("format: 1", "format: 9"), "2: format: is 9, and this software reads 1"),
        (("format: 1\n", ""), "has no 'format'; add it"),
        (("scram:", "scran:"), "secrets.scran: unknown key 'scran'; did you mean 'scram'?"),
        (("SHA-256", "SHA-1"), "scram[0].mechanism: is none of SCRAM-SHA-256, SCRAM-SHA-512"),
        (("alice", "''"), "scram[0].user: is empty; write the user's name"),
        (
            ("'" + "02" * 32 + "'", "'s3cret'"),
            "scram[0].stored_key: is not in hexadecimal digits; write it as",
        ),
        (("4096", "'4096'"), "scram[0].iterations: must be a whole number"),
        (
            ("    salt: '010101010101010101010101'\n", ""),
            "5: secrets.scram[0]: has no 'salt'; add it",
        ),
        (
            ("  scram:\n", "  scram:\n" + SECRETS.partition("scram:\n")[2]),
            "11: secrets.scram[1]: 'SCRAM-SHA-256/alice' is there already, on line 5; keep one",
        ),
    ],
)
def test_mistakes_in_secrets_are_told_without_them(
    tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    path = written(tmp_path, SECRETS.replace(*change))
    with pytest.raises(ConfigError) as caught:
        read_secrets(path)
    assert told in str(caught.value)
    assert "s3cret" not in str(caught.value)
