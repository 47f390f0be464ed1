"""gateway.commands.acl_flags: flags as ACLs and as filters, as kafka-acls has them."""

from __future__ import annotations

import argparse
import shlex

import pytest

from gateway.acl_model import Operation
from gateway.commands import acls
from gateway.commands.acl_flags import (
    acls_to_add,
    filters_to_list,
    filters_to_remove,
    operation_argument,
)
from gateway.commands.actions import fill_client_parser
from gateway.commands.errors import UsageError
from tests.changes.acl_requests import text_of


def options(line: str) -> argparse.Namespace:
    """The flags of a command line."""
    parser = argparse.ArgumentParser()
    fill_client_parser(parser, acls.COMMAND)
    return parser.parse_args(["--bootstrap-server", "h:1", *shlex.split(line)])


def added(line: str) -> set[str]:
    return set(map(text_of, acls_to_add(options(f"--add {line}"))))


def filters(action: str, line: str) -> list[str]:
    """``TYPE PATTERN name principal host OPERATION PERMISSION``, without fields that match
    anything."""
    make = filters_to_list if action == "list" else filters_to_remove
    found = []
    for one in make(options(f"--{action} {line}")):
        parts = (one.type.name, one.pattern_type.name, one.name, one.principal, one.host)
        open_ends = (one.operation.name, one.permission.name)
        found.append(" ".join(part for part in (*parts, *open_ends) if part not in (None, "ANY")))
    return found


BOB = "--allow-principal User:bob"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{BOB} --topic x", {"ALLOW ALL User:bob TOPIC:LITERAL:x"}),
        (f"{BOB} --operation read --topic org:x", {"ALLOW READ User:bob TOPIC:LITERAL:org:x"}),
        (f"{BOB} --namespace org --topic x", {"ALLOW ALL User:bob TOPIC:LITERAL:org:x"}),
        (f"{BOB} --namespace org:apache", {"ALLOW ALL User:bob TOPIC:LITERAL:org:apache:"}),
        (f"{BOB} --namespace org:", {"ALLOW ALL User:bob TOPIC:LITERAL:org:"}),
        (f"{BOB} --topic org:", {"ALLOW ALL User:bob TOPIC:LITERAL:org:"}),
        (f'{BOB} --namespace "" --topic x', {"ALLOW ALL User:bob TOPIC:LITERAL:x"}),
        (f"{BOB} --namespace : --topic x", {"ALLOW ALL User:bob TOPIC:LITERAL::x"}),
        (
            f"{BOB} --namespace org --resource-pattern-type PREFIXED",
            {"ALLOW ALL User:bob TOPIC:PREFIXED:org:"},
        ),
        (
            f"{BOB} --namespace org --group g --transactional-id t",
            {
                "ALLOW ALL User:bob GROUP:LITERAL:org:g",
                "ALLOW ALL User:bob TRANSACTIONAL_ID:LITERAL:org:t",
            },
        ),
        (f"{BOB} --cluster", {"ALLOW ALL User:bob CLUSTER:LITERAL:kafka-cluster"}),
        (
            f"{BOB} --deny-principal User:eve --deny-host 10.0.0.1 --operation write --topic '*'",
            {
                "ALLOW WRITE User:bob TOPIC:LITERAL:*",
                "DENY WRITE User:eve@10.0.0.1 TOPIC:LITERAL:*",
            },
        ),
        (
            f"{BOB} --allow-principal User:al --allow-host h1 --allow-host h2 --topic a --topic b",
            {
                f"ALLOW ALL User:{user}@{host} TOPIC:LITERAL:{topic}"
                for user in ("bob", "al")
                for host in ("h1", "h2")
                for topic in ("a", "b")
            },
        ),
    ],
)
def test_acls(line: str, expected: set[str]) -> None:
    assert added(line) == expected


def test_producers_and_consumers() -> None:
    write = {f"ALLOW {o} User:bob TOPIC:LITERAL:org:x" for o in ("WRITE", "DESCRIBE", "CREATE")}
    assert added(f"{BOB} --producer --namespace org --topic x") == write
    ids = {f"ALLOW {o} User:bob TRANSACTIONAL_ID:LITERAL:t" for o in ("WRITE", "DESCRIBE")}
    grants = added(f"{BOB} --producer --topic org:x --transactional-id t --idempotent")
    idempotent = "ALLOW IDEMPOTENT_WRITE User:bob CLUSTER:LITERAL:kafka-cluster"
    assert grants == write | ids | {idempotent}
    read = {f"ALLOW {o} User:bob TOPIC:LITERAL:org:x" for o in ("READ", "DESCRIBE")}
    group = {"ALLOW READ User:bob GROUP:LITERAL:g"}
    assert added(f"{BOB} --consumer --topic org:x --group g") == read | group
    assert added(f"{BOB} --producer --consumer --topic org:x --group g") == write | read | group


def test_producers_of_a_namespace() -> None:
    inside = {f"ALLOW {o} User:bob TOPIC:LITERAL:org:" for o in ("WRITE", "DESCRIBE", "CREATE")}
    assert added(f"{BOB} --producer --namespace org") == inside
    both = added(f"{BOB} --consumer --namespace org --group g")
    assert both == {
        "ALLOW READ User:bob TOPIC:LITERAL:org:",
        "ALLOW DESCRIBE User:bob TOPIC:LITERAL:org:",
        "ALLOW READ User:bob GROUP:LITERAL:org:g",
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--topic x", ["TOPIC LITERAL x"]),
        ("--namespace org --resource-pattern-type any", ["TOPIC org:"]),
        ("--topic x --group g --resource-pattern-type match", ["TOPIC MATCH x", "GROUP MATCH g"]),
        (f"{BOB} --topic x", ["TOPIC LITERAL x User:bob * ALL ALLOW"]),
        (
            f"{BOB} --operation read --operation write --topic x",
            ["TOPIC LITERAL x User:bob * READ ALLOW", "TOPIC LITERAL x User:bob * WRITE ALLOW"],
        ),
    ],
)
def test_what_is_removed(line: str, expected: list[str]) -> None:
    assert filters("remove", line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", [""]),
        ("--principal User:bob --principal User:al", ["User:bob", "User:al"]),
        ("--topic x", ["TOPIC LITERAL x"]),
        ("--cluster", ["CLUSTER LITERAL kafka-cluster"]),
        ("--namespace org --group g --principal User:bob", ["GROUP LITERAL org:g User:bob"]),
        ("--namespace org", ["TOPIC LITERAL org:"]),
    ],
)
def test_what_is_listed(line: str, expected: list[str]) -> None:
    assert filters("list", line) == expected


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (f"--add {BOB}", "name a resource: --namespace, --topic"),
        ("--add --topic x", "--add needs --allow-principal, --deny-principal or both"),
        ("--add --topic x --allow-principal bob", "'bob' is no principal; write it like"),
        (f"--add {BOB} --topic x --resource-pattern-type any", "any does not go with --add"),
        (f"--add {BOB} --topic x --deny-host h", "--deny-host goes with --deny-principal only"),
        (f"--add {BOB} --namespace org --topic a:x", "'a:x' says its namespace, and --namespace"),
        (f"--add {BOB} --namespace org --group a:x", "--group 'a:x' says its namespace"),
        (f"--add {BOB} --namespace org --topic '*'", "leave out --topic and give --resource-p"),
        (f'--add {BOB} --namespace ""', "the default namespace has no ACLs of its own"),
        (f"--add {BOB} --cluster --resource-pattern-type prefixed", "literal only"),
        (f"--add {BOB} --operation write --group g", "a group has no operation Write; there"),
        (
            f"--add {BOB} --operation ClusterAction --topic x",
            "a topic has no operation ClusterAction",
        ),
        (f"--add {BOB} --producer --group g", "--producer needs --topic or --namespace"),
        (f"--add {BOB} --consumer --topic x", "--consumer needs --group and --topic"),
        (f"--add {BOB} --consumer --topic x --group g --cluster", "no other resource"),
        (f"--add {BOB} --idempotent --topic x", "--idempotent goes with --producer only"),
        (f"--add {BOB} --producer --operation read --topic x", "--operation does not go with"),
        ("--remove --operation read --topic x", "--operation needs --allow-principal"),
        ("--remove", "name a resource"),
        ("--list --principal bob", "'bob' is no principal"),
    ],
)
def test_flags_that_do_not_go_together(line: str, text: str) -> None:
    given = options(line)
    made = {"add": acls_to_add, "remove": filters_to_remove, "list": filters_to_list}
    with pytest.raises(UsageError) as caught:
        made[given.action](given)
    assert text in str(caught.value)


@pytest.mark.parametrize("text", ["DescribeConfigs", "describe_configs", " DESCRIBECONFIGS "])
def test_operations(text: str) -> None:
    assert operation_argument(text) is Operation.DESCRIBE_CONFIGS


@pytest.mark.parametrize("text", ["any", "unknown", "", "rea"])
def test_no_operations(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="there are All, Read, Write"):
        operation_argument(text)
