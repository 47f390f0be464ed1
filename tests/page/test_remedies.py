"""gateway.page.remedies: commands that allow a denied request. The judge is the authorizer itself:
kafka-gateway's own parser reads each command, it is carried out, and the client asks again."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway import cli
from gateway.acl_model import AclBinding, AclFilter, Operation, PatternType, Resource
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.snapshot import Snapshot
from gateway.commands.acl_flags import acls_to_add, filters_to_remove
from gateway.config.models import Config
from gateway.flows import Denial
from gateway.page.denials import RecentDenials
from gateway.page.remedies import remedy
from gateway.views.authorized_access import denied
from tests.acls import samples
from tests.acls.bindings import by_pattern
from tests.config import config_samples
from tests.examples import examples
from tests.gateway.flow_samples import source

ROUNDS = 12
"""The most denials until all gates are open and every DENY is removed."""

SUPPORTED = {
    "TOPIC": ["READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "ALTER_CONFIGS"],
    "GROUP": ["READ", "DESCRIBE", "DELETE"],
}
QUESTIONS = [
    (Operation[operation], samples.named(f"{kind} {name}"))
    for kind, operations in SUPPORTED.items()
    for operation in operations
    for name in samples.NAMES
    if kind == "TOPIC" or not name.endswith(":")
]
questions = st.sampled_from(QUESTIONS)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    return config_samples.config(tmp_path_factory.mktemp("config"))


def parsed(command: str) -> argparse.Namespace:
    program, *arguments = shlex.split(command)
    assert program == "kafka-gateway"
    return cli.parser().parse_args(arguments)


def item(operation: Operation, named: Resource, made: StandardAuthorizer) -> dict[str, Any] | None:
    """The denial of User:a, as a worker reports it, or None if it is allowed."""
    verdict = made.authorize("User:a", samples.HOST, operation, named)
    if verdict.allowed:
        return None
    why = denied("User:a", operation, named, verdict, "")
    return {
        "rule": why.rule,
        "principal": "User:a",
        "listener": "colon",
        "mount": None,
        "operation": why.operation,
        "named": why.resource,
        "because": why.because,
    }


def carried_out(made: StandardAuthorizer, commands: Sequence[str]) -> StandardAuthorizer:
    """The authorizer after these commands."""
    kept = set(made.acls(AclFilter()))
    for command in commands:
        options = parsed(command)
        if options.action == "add":
            kept |= set(acls_to_add(options))
        else:
            gone = {one for each in filters_to_remove(options) for one in made.acls(each)}
            assert gone, f"it removes nothing: {command}"
            kept -= gone
    return of(kept)


def of(bindings: set[AclBinding]) -> StandardAuthorizer:
    return samples.authorizer(Snapshot().apply(by_pattern(bindings), 1))


@settings(max_examples=examples(300), deadline=None)
@given(samples.snapshots, questions)
def test_the_commands_allow_what_was_denied(
    config: Config, snapshot: Snapshot, question: tuple[Operation, Resource]
) -> None:
    made = samples.authorizer(snapshot)
    for _ in range(ROUNDS):
        denial = item(*question, made)
        if denial is None:
            return
        advice = remedy(denial, config)
        assert advice.note
        if not advice.commands:
            # For a namespace, or if a wider ACL denied it: see the test below.
            has_records = not str(denial["named"]).endswith(":")
            assert (
                question[0] not in (Operation.READ, Operation.WRITE)
                or not has_records
                or (str(denial["because"]).startswith("DENY"))
            )
            return
        made = carried_out(made, advice.commands)
    raise AssertionError(f"still denied: {item(*question, made)}")


@pytest.mark.parametrize(
    ("lines", "question", "expected"),
    [
        (
            [],
            "WRITE TOPIC org:orders",
            ["--add --allow-principal User:a --operation Write --topic org:orders"],
        ),
        (
            ["TOPIC:LITERAL:org: ALLOW READ b"],
            "READ TOPIC org:orders",
            [
                "--add --allow-principal User:a --operation Describe --namespace org",
                "--add --allow-principal User:a --operation Read --topic org:orders",
            ],
        ),
        (
            ["TOPIC:LITERAL:org:orders DENY READ a 10.0.0.1"],
            "READ TOPIC org:orders",
            [
                "--remove --deny-principal User:a --deny-host 10.0.0.1 --operation Read"
                " --topic org:orders --resource-pattern-type literal"
            ],
        ),
        (
            [],
            "CREATE TOPIC org:or:",
            ["--add --allow-principal User:a --operation Create --namespace org:or"],
        ),
        (
            [],
            "CLUSTER_ACTION CLUSTER kafka-cluster",
            ["--add --allow-principal User:a --operation ClusterAction --cluster"],
        ),
        (
            [],
            "WRITE TRANSACTIONAL_ID tx 1",
            ["--add --allow-principal User:a --operation Write --transactional-id 'tx 1'"],
        ),
    ],
)
def test_the_narrowest_command(
    config: Config, lines: list[str], question: str, expected: list[str]
) -> None:
    operation, _, named = question.partition(" ")
    denial = item(Operation[operation], samples.named(named), samples.authorizer(lines))
    assert denial is not None
    start = f"kafka-gateway acls --bootstrap-server 127.0.0.1:{config.listeners[0].port} "
    assert list(remedy(denial, config).commands) == [start + one for one in expected]


@pytest.mark.parametrize(
    "acl",
    [
        "TOPIC:PREFIXED:org:or DENY READ a",
        "TOPIC:PREFIXED:org:orders DENY READ a",
        "TOPIC:LITERAL:* DENY READ a",
        "TOPIC:LITERAL:org: DENY READ a",
        "TOPIC:LITERAL:org:orders DENY ALL a",
        "TOPIC:LITERAL:org:orders DENY READ *",
    ],
)
def test_a_denial_of_more_is_not_removed_for_one_thing(config: Config, acl: str) -> None:
    denial = item(Operation.READ, samples.named("TOPIC org:orders"), samples.authorizer(acl))
    assert denial is not None
    advice = remedy(denial, config)
    assert advice.commands == ()
    assert acl.split()[0] in advice.note


IMPLIED = {
    Operation.READ: Operation.DESCRIBE,
    Operation.WRITE: Operation.DESCRIBE,
    Operation.DELETE: Operation.DESCRIBE,
    Operation.ALTER: Operation.DESCRIBE,
    Operation.ALTER_CONFIGS: Operation.DESCRIBE_CONFIGS,
}
"""Kafka's own: AclAuthorizer's and StandardAuthorizer's allowed operations."""

WIDE = [f"{kind}:LITERAL:* ALLOW ALL *" for kind in SUPPORTED]

Probe = tuple[str, str, Operation, Resource]
PROBES: list[Probe] = [
    (principal, host, Operation[operation], samples.named(f"{kind} {name}{more}"))
    for kind, operations in SUPPORTED.items()
    for operation in operations
    for name in samples.NAMES
    for more in ("", *(["2"] if name in ("or", "org:or") else []))
    if kind == "TOPIC" or not f"{name}{more}".endswith(":")
    for principal in ("User:a", "User:b")
    for host in samples.HOSTS
]


def allowed(made: StandardAuthorizer) -> set[Probe]:
    """The probes that the authorizer itself allows."""
    return {probe for probe in PROBES if made.authorize(*probe).allowed}


@settings(max_examples=examples(40), deadline=None)
@given(samples.snapshots, st.booleans())
def test_one_thing_more_and_no_more(config: Config, snapshot: Snapshot, wide: bool) -> None:
    # If much is allowed, it becomes visible what a removed ACL has denied.
    acls = set(samples.authorizer(snapshot).acls(AclFilter()))
    made = of(acls | (set(samples.authorizer(WIDE).acls(AclFilter())) if wide else set()))
    reasons: dict[str, tuple[tuple[Operation, Resource], dict[str, Any]]] = {}
    for question in QUESTIONS:
        denial = item(*question, made)
        if denial is not None:
            reasons.setdefault(f"{denial['because']} {question[0].name}", (question, denial))
    for question, denial in reasons.values():
        now = made
        for command in remedy(denial, config).commands:
            before, now = allowed(now), carried_out(now, [command])
            _check_more(question, command, allowed(now) - before)


def _check_more(question: tuple[Operation, Resource], command: str, more: set[Probe]) -> None:
    """Only User:a is allowed more: the resource itself, and for a namespace the names in it."""
    operation, named = question
    options = parsed(command)
    operations = {operation, IMPLIED.get(operation, operation)}
    for principal, _, done, what in more:
        assert principal == "User:a"
        if options.namespace is None:
            assert (what, done in operations) == (named, True), command
        else:
            assert what.namespace.startswith(options.namespace), command


def test_names_of_clients_are_quoted(config: Config) -> None:
    denial = item(Operation.READ, samples.named("GROUP x"), samples.authorizer([]))
    assert denial is not None
    evil = "$(reboot); `id` 'x"
    (command,) = remedy({**denial, "named": f"GROUP {evil}"}, config).commands
    assert parsed(command).group == [evil]


@pytest.mark.parametrize("named", ["TOPIC *", "GROUP *", "TRANSACTIONAL_ID *"])
def test_a_name_that_is_everything_as_a_pattern_is_not_advised(config: Config, named: str) -> None:
    denial = item(Operation.READ, samples.named("GROUP x"), samples.authorizer([]))
    assert denial is not None
    advice = remedy({**denial, "named": named}, config)
    assert (advice.commands, bool(advice.note)) == ((), True)


@pytest.mark.parametrize("operation", ["READ", "WRITE"])
def test_a_namespace_has_no_records(config: Config, operation: str) -> None:
    denial = item(Operation.READ, samples.named("GROUP x"), samples.authorizer([]))
    assert denial is not None
    asked = {**denial, "operation": operation, "named": "TOPIC team-a:"}
    assert remedy(asked, config).commands == ()


@pytest.mark.parametrize("name", [" x", " y ", "x\n", "\t", " "])
def test_what_a_command_would_not_keep_is_not_advised(config: Config, name: str) -> None:
    denial = item(Operation.READ, samples.named("GROUP x"), samples.authorizer([]))
    assert denial is not None
    assert remedy({**denial, "named": f"GROUP {name}"}, config).commands == ()
    assert remedy({**denial, "principal": "User:a "}, config).commands == ()


@pytest.mark.parametrize("principal", ["User:*", "User:a\nb", "User:"])
def test_a_principal_that_is_more_than_one(config: Config, principal: str) -> None:
    denial = item(Operation.READ, samples.named("GROUP x"), samples.authorizer([]))
    assert denial is not None
    assert remedy({**denial, "principal": principal}, config).commands == ()


@pytest.mark.parametrize(
    "named",
    ["GROUP team-a:*", "TOPIC team-a:*", "TOPIC other:orders", "GROUP app", "TOPIC team-a:"],
)
def test_a_listener_with_a_home_names_what_is_in_it(tmp_path: Path, named: str) -> None:
    """There ``*`` is everything in the home, and ``other:orders`` is another name."""
    listeners = [{"name": "team", "port": 9_200, "home": "team-a"}]
    denial = {
        "rule": "acl",
        "principal": "User:a",
        "listener": "team",
        "mount": None,
        "operation": "DESCRIBE",
        "named": named,
        "because": "no ACL allows it",
    }
    advice = remedy(denial, config_samples.config(tmp_path, listeners=listeners))
    assert (advice.commands, bool(advice.note)) == ((), True)


@pytest.mark.parametrize("name", ["--all", "-h", "-", "--group", "a b", "'", "a\nb"])
def test_whatever_a_name_is_the_command_is_about_it_alone(config: Config, name: str) -> None:
    denial = item(Operation.READ, samples.named("GROUP x"), samples.authorizer([]))
    assert denial is not None
    (command,) = remedy({**denial, "named": f"GROUP {name}"}, config).commands
    (added,) = acls_to_add(parsed(command))
    assert (added.pattern.name, added.pattern.pattern_type) == (name, PatternType.LITERAL)


def test_the_listener_of_the_command(tmp_path: Path) -> None:
    """A listener where names are whole, if there is one, because the client's may have a home."""
    listeners = [
        {"name": "team", "port": 9_200, "home": "team-a", "advertised_host": "team.example"},
        {"name": "all", "port": 9_300, "advertised_host": "all.example"},
    ]
    denial = {
        "rule": "acl",
        "principal": "User:a",
        "listener": "team",
        "mount": None,
        "operation": "READ",
        "named": "TOPIC team-a:orders",
        "because": "no ACL allows it",
    }
    both = config_samples.config(tmp_path, listeners=listeners)
    assert remedy(denial, both).commands == [
        "kafka-gateway acls --bootstrap-server all.example:9300 --add --allow-principal User:a"
        " --operation Read --topic team-a:orders"
    ]
    only_home = config_samples.config(tmp_path, listeners=listeners[:1])
    assert remedy(denial, only_home).commands == [
        "kafka-gateway acls --bootstrap-server team.example:9200 --add --allow-principal User:a"
        " --operation Read --topic orders"
    ]


def test_in_a_tree_it_is_a_listener_of_the_cluster(tmp_path: Path) -> None:
    config = config_samples.tree(tmp_path)
    ny = next(one for one in config.listeners if one.volume == "ny:tracking")
    denial = {
        "rule": "acl",
        "principal": "User:a",
        "listener": "la",
        "mount": "ny:tracking",
        "operation": "READ",
        "named": "TOPIC search:clicks",
        "because": "no ACL allows it",
    }
    (command,) = remedy(denial, config).commands
    assert f"--bootstrap-server 127.0.0.1:{ny.port} " in command


def test_the_right_may_be_on_another_resource_than_the_denial(config: Config) -> None:
    """A move that ACLs of others forbid concerns the topic, and ALTER on the cluster allows it,
    whatever ACL of the topic's is the reason."""
    for because in ("no ACL allows ALTER", "DENY ALTER for User:a on TOPIC:LITERAL:org:x"):
        what = "ALTER", "TOPIC org:x", because
        denial = Denial(
            source(), 44, 1, "acl", 29, "org:x", "no", *what, right="CLUSTER kafka-cluster"
        )
        recent = RecentDenials()
        recent.add([denial], [])
        (told,) = recent.items()
        (command,) = remedy(told, config).commands
        (acl,) = acls_to_add(parsed(command))
        assert str(acl.pattern) == "CLUSTER:LITERAL:kafka-cluster"
        assert acl.entry.operation is Operation.ALTER


@pytest.mark.parametrize("rule", ["namespace", "volume", "peer", "home"])
def test_where_no_acl_denied_there_is_no_command(config: Config, rule: str) -> None:
    recent = RecentDenials()
    text = "Namespace 'org' does not exist."
    recent.add([Denial(source(), 0, 9, rule, 3, "org:x", text)], [])
    (denial,) = recent.items()
    assert remedy(denial, config).commands == ()
