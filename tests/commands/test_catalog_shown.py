"""gateway.commands.catalog.shown: the changes of an import, as people and programs see them."""

from __future__ import annotations

from dataclasses import replace

from gateway.acl_model import AclEntry, Operation, Permission, pattern_of
from gateway.catalog.entities import (
    Alias,
    Entity,
    Namespace,
    PrincipalHome,
    ResourceAcls,
    ScramCredential,
    Seeds,
    TopicEntry,
)
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog.diff import differences, differences_json, differences_text
from gateway.commands.catalog.file import main_kinds, secret_kinds
from gateway.names import LogicalName
from tests.commands.catalog_samples import sample

ORDERS = TopicEntry("org..orders", LogicalName("org", "sales"), bytes(16))
READ = AclEntry("User:a", "*", Operation.READ, Permission.ALLOW)
WRITE = AclEntry("User:b", "10.0.0.1", Operation.WRITE, Permission.DENY)
PATTERN = pattern_of("TOPIC:PREFIXED:org:")
FILE_KINDS = [*main_kinds().values(), *secret_kinds().values()]
SCRAM = ScramCredential("a", "SCRAM-SHA-256", 4096, b"salty", b"stored", b"server")


def test_how_it_is_shown() -> None:
    before = Snapshot().apply([Namespace("org", {"a": "1", "b": "2"}), Namespace("x"), ORDERS], 1)
    changed: list[Entity] = [
        Namespace("org", {"a": "9", "c": "3"}, deleting=1_700_000_000_000),
        replace(
            ORDERS,
            name=LogicalName("", "o"),
            topic_id=None,
            aliases=(Alias(ORDERS.name, 1_796_126_400_000),),
        ),
        Namespace("team-a", {"k": "v"}),
        Seeds(frozenset({"org", "x"})),
    ]
    found = differences(before, changed, prune=True, now=1)
    assert differences_text(found) == (
        "+ list of namespaces that configuration files have made\n"
        "    namespaces: org, x\n"
        "~ namespace org\n"
        "    configs.a: 1 -> 9\n"
        "    configs.b: 2 -> (none)\n"
        "    configs.c: (none) -> 3\n"
        "    deleting: (none) -> 2023-11-14T22:13:20.000Z  # its topics will be deleted\n"
        "+ namespace team-a\n"
        "    configs.k: v\n"
        "~ topic stored as org..orders\n"
        "    aliases: (none) -> org:sales until 2026-12-01T12:00:00.000Z\n"
        "    name: org:sales -> o\n"
        "    topic_id: 00000000-0000-0000-0000-000000000000 -> (none)\n"
        "- namespace x\n"
        "2 added, 2 changed, 1 removed."
    )


def test_as_json() -> None:
    found = differences(sample(), [Seeds(frozenset("z"))], prune=False, now=1)
    assert differences_json(found) == [
        {
            "kind": "seeds",
            "key": "",
            "before": {"namespaces": ["org", "team-a"]},
            "after": {"namespaces": ["org", "team-a", "z"]},
        }
    ]


def test_of_acls_the_entries_are_shown_that_come_and_go() -> None:
    before = Snapshot().apply([Namespace("org"), ResourceAcls(PATTERN, frozenset({READ}))], 1)
    changed: list[Entity] = [
        ResourceAcls(PATTERN, frozenset({WRITE})),
        ResourceAcls(pattern_of("GROUP:LITERAL:*"), frozenset({READ})),
        PrincipalHome("User:a", "org"),
    ]
    found = differences(before, changed, prune=False, now=1)
    assert differences_text(found) == (
        "+ ACLs on GROUP:LITERAL:*\n"
        "    + ALLOW READ for User:a\n"
        "~ ACLs on TOPIC:PREFIXED:org:\n"
        "    - ALLOW READ for User:a\n"
        "    + DENY WRITE for User:b from 10.0.0.1\n"
        "+ home of User:a\n"
        "    namespace: org\n"
        "2 added, 1 changed, 0 removed."
    )
    assert differences_json(found)[1]["after"] == {
        "type": "TOPIC",
        "pattern": "PREFIXED",
        "name": "org:",
        "entries": [
            {
                "permission": "DENY",
                "operation": "WRITE",
                "principal": "User:b",
                "host": "10.0.0.1",
            }
        ],
    }


def test_no_secret_is_shown() -> None:
    before = Snapshot().apply([SCRAM], 1)
    changed = replace(SCRAM, iterations=8192, salt=b"other")
    found = differences(before, [changed], prune=True, now=1, kinds=FILE_KINDS)
    assert differences_text(found) == (
        "~ SCRAM-SHA-256 credential of a\n"
        "    iterations: 4096 -> 8192\n"
        "0 added, 1 changed, 0 removed."
    )
    assert differences_json(found) == [
        {
            "kind": "scram",
            "key": "SCRAM-SHA-256/a",
            "before": {"iterations": 4096},
            "after": {"iterations": 8192},
        }
    ]
