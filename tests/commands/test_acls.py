"""gateway.commands.acls: the subcommand acls, and the requests that it sends."""

from __future__ import annotations

import io
import sys

import pytest

from gateway import exit_codes
from tests.commands.fake_acls import FakeAcls
from tests.commands.running import acls

READ_X = "ALLOW READ User:bob TOPIC:LITERAL:org:x"
WRITE_X = "ALLOW WRITE User:bob TOPIC:LITERAL:org:x"
NAMESPACE = "DENY ALL User:eve@10.0.0.1 TOPIC:PREFIXED:org:"
GROUP = "ALLOW READ User:bob GROUP:LITERAL:g"
BOB = ("--allow-principal", "User:bob")


async def test_add() -> None:
    async with FakeAcls() as gateway:
        more = ("--operation", "read", "--operation", "write", "--namespace", "org", "--topic", "x")
        said = await acls(gateway, "--add", *BOB, *more)
        assert (said.status, said.err) == (0, "")
        assert said.out == (
            "Added 2 ACLs.\n"
            "resource  name   pattern  principal  host  operation  permission\n"
            "topic     org:x  literal  User:bob   *     READ       ALLOW\n"
            "topic     org:x  literal  User:bob   *     WRITE      ALLOW\n"
        )
        assert gateway.texts == {READ_X, WRITE_X}


async def test_list() -> None:
    async with FakeAcls(READ_X, NAMESPACE, GROUP) as gateway:
        said = await acls(gateway, "--list")
        assert (said.status, said.err) == (0, "")
        assert said.out == (
            "resource   name   pattern   principal  host      operation  permission\n"
            "namespace  org:   prefixed  User:eve   10.0.0.1  ALL        DENY\n"
            "topic      org:x  literal   User:bob   *         READ       ALLOW\n"
            "group      g      literal   User:bob   *         READ       ALLOW\n"
        )
        match = ("--topic", "org:x", "--resource-pattern-type", "match")
        said = await acls(gateway, "--list", *match, "--json")
        assert said.json == {
            "acls": [
                {
                    "resource_type": "TOPIC",
                    "name": "org:",
                    "pattern_type": "PREFIXED",
                    "principal": "User:eve",
                    "host": "10.0.0.1",
                    "operation": "ALL",
                    "permission": "DENY",
                },
                {
                    "resource_type": "TOPIC",
                    "name": "org:x",
                    "pattern_type": "LITERAL",
                    "principal": "User:bob",
                    "host": "*",
                    "operation": "READ",
                    "permission": "ALLOW",
                },
            ]
        }
        said = await acls(gateway, "--list", "--principal", "User:nobody")
        assert (said.status, said.out) == (0, "There is no such ACL.\n")


async def test_remove_without_asking() -> None:
    async with FakeAcls(READ_X, WRITE_X, GROUP) as gateway:
        said = await acls(
            gateway, "--remove", *BOB, "--operation", "read", "--topic", "org:x", "--force"
        )
        assert (said.status, said.err) == (0, "")
        assert said.lines[0] == "Removed 1 ACL."
        assert gateway.texts == {WRITE_X, GROUP}
        assert not gateway.asked("DescribeAcls")
        said = await acls(gateway, "--remove", "--group", "g", "--force", "--json")
        assert [one["name"] for one in said.json["removed"]] == ["g"]
        said = await acls(gateway, "--remove", "--group", "g", "--force")
        assert (said.status, said.out) == (0, "There is no such ACL; nothing was removed.\n")


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 1), ("", 1)])
async def test_remove_asks(answer: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Terminal(answer))
    async with FakeAcls(READ_X, GROUP) as gateway:
        said = await acls(gateway, "--remove", "--topic", "org:x")
        assert said.status == status
        assert "topic     org:x  literal  User:bob" in said.err
        assert "Remove 1 ACL? [y/N]" in said.err
        assert gateway.texts == ({GROUP} if not status else {READ_X, GROUP})


async def test_remove_where_nobody_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    async with FakeAcls(READ_X) as gateway:
        said = await acls(gateway, "--remove", "--topic", "org:x")
        assert said.status == 1
        assert "--force does not ask" in said.err
        assert gateway.texts == {READ_X}
        said = await acls(gateway, "--remove", "--topic", "nothing")
        assert (said.status, said.out) == (0, "There is no such ACL; nothing was removed.\n")


@pytest.mark.parametrize(
    "flags",
    [
        ("--producer", "--idempotent", "--topic", "x"),
        ("--operation", "idempotent_write", "--cluster"),
    ],
)
async def test_granting_idempotent_write_is_warned_of(flags: tuple[str, ...]) -> None:
    async with FakeAcls() as gateway:
        said = await acls(gateway, "--add", *BOB, *flags)
        assert said.status == 0
        assert said.err == (
            "kafka-gateway: warning: granting IDEMPOTENT_WRITE is deprecated (KIP-679): WRITE on"
            " any topic is enough for idempotent producers\n"
        )
        assert "ALLOW IDEMPOTENT_WRITE User:bob CLUSTER:LITERAL:kafka-cluster" in gateway.texts
        deny = ("--deny-principal", "User:bob", "--operation", "idempotent_write", "--cluster")
        assert (await acls(gateway, "--add", *deny)).err == ""


async def test_some_of_it_rejected() -> None:
    async with FakeAcls() as gateway:
        gateway.rejecting["bad"] = (31, "You may not.")
        said = await acls(gateway, "--add", *BOB, "--topic", "good", "--topic", "bad")
        assert said.status == 1
        assert said.lines[0] == "Added 1 ACL."
        assert said.err == (
            "kafka-gateway: ACL 'ALLOW ALL for User:bob on TOPIC:LITERAL:bad' was not added: You"
            " may not. [CLUSTER_AUTHORIZATION_FAILED]; ask for ALTER on the cluster, or on the"
            " namespace\n"
        )
        said = await acls(gateway, "--add", *BOB, "--topic", "bad", "--json")
        assert said.json["added"] == []
        assert said.json["failed"][0]["error"] == "CLUSTER_AUTHORIZATION_FAILED"


async def test_many_rejected() -> None:
    async with FakeAcls() as gateway:
        gateway.rejecting["CreateAcls"] = (54, "No Authorizer is configured.")
        names = [word for n in range(30) for word in ("--topic", f"t{n:02}")]
        said = await acls(gateway, "--add", *BOB, *names)
        lines = said.err.splitlines()
        assert (said.status, said.out, len(lines)) == (1, "", 21)
        assert lines[0].endswith(
            "; give the gateways an authorization block in their configuration"
        )
        assert lines[20] == "kafka-gateway: 10 more were refused"


async def test_listing_and_removing_rejected() -> None:
    async with FakeAcls(READ_X) as gateway:
        gateway.rejecting["DescribeAcls"] = gateway.rejecting["DeleteAcls"] = (31, "You may not.")
        said = await acls(gateway, "--list")
        assert (said.status, said.out) == (1, "")
        assert said.err == (
            "kafka-gateway: the list of ACLs was not read: You may not."
            " [CLUSTER_AUTHORIZATION_FAILED]; ask for DESCRIBE on the cluster, or on the"
            " namespace\n"
        )
        said = await acls(gateway, "--remove", "--topic", "org:x", "--force")
        assert said.status == 1
        assert "an ACL was not removed: You may not." in said.err


async def test_a_broker_is_not_taken_for_a_gateway() -> None:
    async with FakeAcls() as broker:
        invalid = "it contains one or more characters other than ASCII alphanumerics"
        broker.rejections["DescribeConfigs"] += [(17, invalid)] * 3
        for flags in (["--add", *BOB, "--topic", "x"], ["--list"], ["--remove", "--topic", "x"]):
            said = await acls(broker, *flags)
            assert said.status == exit_codes.UNAVAILABLE
            assert "is a Kafka broker, not a gateway" in said.err
        assert broker.texts == set()


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--list", *BOB), "--allow-principal does not go with --list but with --add or --remove"),
        (("--add", "--force"), "--force does not go with --add but with --remove"),
        (("--add", "--principal", "User:a"), "--principal does not go with --add but with --list"),
        (("--add", *BOB), "name a resource"),
        (("--list", "--add"), "not allowed with argument"),
        ((), "one of the arguments --add --remove --list is required"),
        (("--list", "--operation", "fly"), "'fly' is no operation; there are All, Read"),
        (("--list", "--resource-pattern-type", "x"), "invalid choice: 'x'"),
    ],
)
async def test_what_cannot_be_understood(flags: tuple[str, ...], text: str) -> None:
    async with FakeAcls() as gateway:
        said = await acls(gateway, *flags)
        assert (said.status, said.out) == (exit_codes.USAGE, "")
        assert text in said.err
        assert gateway.requests == []


async def test_help_has_examples() -> None:
    async with FakeAcls() as gateway:
        said = await acls(gateway, "--help")
        assert said.status == 0
        assert "--namespace org --topic orders" in said.out
        assert "exit status:" in said.out
