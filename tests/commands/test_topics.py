"""gateway.commands.topics.command: the subcommand's flags; gateway.commands.running."""

from __future__ import annotations

import pytest

from devkit.ports import free_port
from gateway import exit_codes
from tests.commands.fake_gateway import FakeGateway
from tests.commands.running import command, topics


async def test_help_has_examples_and_exit_statuses() -> None:
    for name in ("topics", "configs", "explain", "catalog"):
        said = await command(name, "--help")
        assert said.status == 0
        assert f"kafka-gateway {name} " in said.out.partition("examples:")[2]
        for status in (0, 1, 2, 69):
            assert f"\n{status:>4}  " in said.out.partition("exit status:")[2]


async def test_a_flag_that_would_be_ignored_is_rejected() -> None:
    async with FakeGateway("org") as gateway:
        said = await topics(gateway, "--list", "--partitions", "3")
        assert (said.status, said.out) == (2, "")
        assert said.err == (
            "kafka-gateway: --partitions does not go with --list but with --create\n"
        )
        said = await topics(gateway, "--list", "--as", "x")
        assert said.err == (
            "kafka-gateway: --as does not go with --list but with --move or --adopt or --link\n"
        )
        said = await topics(gateway, "--create", "--topic", "a", "--from-namespace", "")
        assert "--from-namespace does not go with --create but with --move" in said.err
        assert gateway.requests == []


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--list", "--create"],
        ["--list", "--timeout", "0"],
        ["--list", "--timeout", "soon"],
        ["--list", "--timeout", "nan"],
        ["--create", "--topic", "a", "--partitions", "x"],
        ["--list", "--recurs"],
    ],
)
async def test_what_argparse_rejects(words: list[str]) -> None:
    async with FakeGateway() as gateway:
        said = await topics(gateway, *words)
        assert (said.status, said.out) == (exit_codes.USAGE, "")


@pytest.mark.parametrize("address", ["localhost", "localhost:0", ":1", "a:1,b"])
async def test_addresses_that_are_none(address: str) -> None:
    said = await command("topics", "--bootstrap-server", address, "--list")
    assert said.status == exit_codes.USAGE
    assert "argument --bootstrap-server: " in said.err


async def test_nobody_answers() -> None:
    address = f"127.0.0.1:{free_port()}"
    said = await command("topics", "--bootstrap-server", address, "--list")
    assert (said.status, said.out) == (exit_codes.UNAVAILABLE, "")
    assert said.err == (
        f"kafka-gateway: no answer from the gateway: {address}: cannot connect: Connection "
        "refused; see that it runs, that its brokers do (/readyz tells), and that "
        "--bootstrap-server is the address of one of its listeners\n"
    )


async def test_several_addresses() -> None:
    async with FakeGateway().add("a") as gateway:
        both = f"127.0.0.1:{free_port()},{gateway.address}"
        said = await command("topics", "--bootstrap-server", both, "--list")
        assert (said.status, said.out) == (0, "a\n")
