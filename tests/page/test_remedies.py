"""gateway.page.remedies: commands that allow what was denied. The judge is the authorizer itself:
each command is read by kafka-gateway's own parser, what it says is done, and the client asks again.
"""

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
from gateway.acl_model import AclBinding, AclFilter, Operation, Resource
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
from tests.gateway.flow_samples import source

ROUNDS = 12
"""Denials one after the other until all gates are open and all that denies is gone."""

SUPPORTED = {
    "TOPIC": ["READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "ALTER_CONFIGS"],
    "GROUP": ["READ", "DESCRIBE", "DELETE"],
}
questions = st.sampled_from(
    [
        (Operation[operation], samples.named(f"{kind} {name}"))
        for kind, operations in SUPPORTED.items()
        for operation in operations
        for name in samples.NAMES
        if kind == "TOPIC" or not name.endswith(":")
    ]
)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    return config_samples.config(tmp_path_factory.mktemp("config"))


def parsed(command: str) -> argparse.Namespace:
    program, *arguments = shlex.split(command)
    assert program == "kafka-gateway"
    return cli.parser().parse_args(arguments)


def item(operation: Operation, named: Resource, made: StandardAuthorizer) -> dict[str, Any] | None:
    """The denial of User:a, as a worker tells it; None: it is allowed."""
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


@settings(max_examples=300, deadline=None)
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
        assert advice.commands, denial
        assert advice.note
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
            ["TOPIC:PREFIXED:org:or DENY ALL * 10.0.0.1"],
            "READ TOPIC org:orders",
            [
                "--remove --deny-principal 'User:*' --deny-host 10.0.0.1 --operation All"
                " --topic org:or --resource-pattern-type prefixed"
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


def test_names_of_clients_are_quoted(config: Config) -> None:
    denial = item(Operation.READ, samples.named("GROUP x"), samples.authorizer([]))
    assert denial is not None
    evil = "$(reboot); `id` 'x"
    (command,) = remedy({**denial, "named": f"GROUP {evil}"}, config).commands
    assert parsed(command).group == [evil]


def test_the_listener_of_the_command(tmp_path: Path) -> None:
    """One where names are whole, if there is one: the client's may have a home."""
    listeners = [
        {"name": "team", "port": 19_200, "home": "team-a", "advertised_host": "team.example"},
        {"name": "all", "port": 19_300, "advertised_host": "all.example"},
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
        "kafka-gateway acls --bootstrap-server all.example:19300 --add --allow-principal User:a"
        " --operation Read --topic team-a:orders"
    ]
    only_home = config_samples.config(tmp_path, listeners=listeners[:1])
    assert remedy(denial, only_home).commands == [
        "kafka-gateway acls --bootstrap-server team.example:19200 --add --allow-principal User:a"
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


@pytest.mark.parametrize("rule", ["namespace", "volume", "peer", "home"])
def test_where_no_acl_denied_there_is_no_command(config: Config, rule: str) -> None:
    recent = RecentDenials()
    text = "Namespace 'org' does not exist."
    recent.add([Denial(source(), 0, 9, rule, 3, "org:x", text)], [])
    (denial,) = recent.items()
    assert remedy(denial, config).commands == ()
