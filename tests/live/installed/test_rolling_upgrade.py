"""An earlier build and this one side by side on one catalog: there and back, clients at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from itertools import product
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.build_tree import CompileError, require_compiler
from devkit.gateway_process import COMMAND, GatewayProcess
from devkit.installed import earlier_command, installed_command
from devkit.waiting import wait_until
from tests.live.fleet.conftest import Gateways, created, fleet
from tests.live.support import clients, namespaces, steady

pytestmark = pytest.mark.timeout(1800)

EARLIER: Final = "bb21cca4"
"""The commit of the earlier build. There is no release yet; it becomes the tag of the last one."""

SECONDS = clients.SECONDS
TOPIC: Final = "team-a:rolling"


def this_command() -> str:
    """What is installed from this source tree: compiled, where that can be."""
    try:
        require_compiler()
    except CompileError:
        return str(installed_command("pure"))
    return str(installed_command("compiled"))


@pytest.fixture(scope="module")
def own() -> Iterator[KafkaCluster]:
    """A cluster of its own: its catalog is an earlier gateway's."""
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture
def gateways(own: KafkaCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateways]:
    """Two of the earlier build."""
    monkeypatch.setenv(COMMAND, str(earlier_command(EARLIER)))
    with fleet(own.bootstrap_servers, "gw-a", "gw-b") as (first, second):
        yield first, second


def test_there_and_back(gateways: Gateways, monkeypatch: pytest.MonkeyPatch) -> None:
    earlier, this = str(earlier_command(EARLIER)), this_command()
    tools = gateways[0].bootstrap_servers("tools")
    servers = created(gateways, TOPIC)
    with ExitStack() as stack:
        running = [
            steady.producer("librdkafka", servers, TOPIC, ignoring=True),
            steady.member("member", servers, "classic", TOPIC, ignoring=True),
            steady.member(
                "kip-848", servers, "kip-848", TOPIC, group_protocol="consumer", ignoring=True
            ),
        ]
        for one in running:
            stack.enter_context(one)
        for one in running:
            one.await_progress("the start", TOPIC)
        for step, (command, gateway) in enumerate(product((this, earlier), gateways)):
            monkeypatch.setenv(COMMAND, command)
            replaced(gateway)
            for one in running:
                one.await_progress(f"step {step}", TOPIC)
            both_see_what_one_makes(gateways, str(step))
        writer, *readers = running
        writer.stop()
        for reader in readers:
            reader.await_seen(TOPIC, writer.acked[TOPIC])
    for one in running:
        one.check()
    written = clients.consume(tools, TOPIC, len(writer.acked[TOPIC]), "check")
    assert {*writer.acked[TOPIC]} == {*written}, "acknowledged, and lost"
    steady.once_each(written)


def replaced(gateway: GatewayProcess) -> None:
    """Stop a gateway, which ends well, and start what is installed as the command now."""
    assert gateway.process.terminate(SECONDS) == 0
    gateway.kill()
    gateway.start_again()


def both_see_what_one_makes(gateways: Gateways, name: str) -> None:
    """A namespace that is made at each of them holds topics at the other one."""
    first, second = (one.bootstrap_servers("tools") for one in gateways)
    for here, there, made in ((first, second, f"a-{name}"), (second, first, f"b-{name}")):
        namespaces.create(here, f"{made}:")
        namespaces.create(there, f"{made}:orders")
        wait_until(partial(lists, here, f"{made}:orders"), made, SECONDS)


def lists(servers: str, topic: str) -> bool:
    """Whether a gateway lists a topic."""
    return topic in clients.listed(servers)
