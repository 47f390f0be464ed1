"""Three gateways of a cluster, each stopped and killed in turn, under exactly-once producers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import DeadlineError, wait_until
from tests.live.fleet.conftest import created, fleet
from tests.live.fleet.test_killed_gateways import killed, stopped
from tests.live.fleet.test_nodes import gateway_nodes
from tests.live.moves import load, load_checks
from tests.live.support import clients

pytestmark = pytest.mark.alone
"""A gateway that is stopped answers its pending requests within 1.5 s."""

SECONDS = clients.SECONDS


@pytest.fixture(scope="module")
def three(own: KafkaCluster) -> Iterator[tuple[GatewayProcess, ...]]:
    """Three gateways, each of which lists all."""
    with fleet(own.bootstrap_servers, "gw-1", "gw-2", "gw-3") as gateways:
        yield gateways


@pytest.mark.parametrize("ends", [stopped, killed])
def test_what_is_acknowledged_is_written_once(
    ends: Callable[[GatewayProcess], None],
    three: tuple[GatewayProcess, ...],
    own: KafkaCluster,
) -> None:
    """No record is lost or repeated, and no record of an aborted transaction is read.

    Transactions that are open while a gateway ends are committed at another gateway.
    """
    topic = f"once-{ends.__name__}"
    addresses = [one.bootstrap_servers("all") for one in three]
    wait_until(lambda: all(len(gateway_nodes(at)) == 3 for at in addresses), "three", SECONDS)
    servers = created(three, topic, load.PARTITIONS)
    ended = 0
    with ExitStack() as stack:
        steady = stack.enter_context(
            load.IdempotentSender(servers, lambda: topic, "steady", load.PATIENT_MS)
        )
        atomic = stack.enter_context(
            load.TransactionalSender(
                servers, lambda: topic, f"{topic}-atomic", load.PATIENT_MS, lambda: ended
            )
        )
        senders = (steady, atomic)
        for gateway in three * 2:
            _await_more(*senders)
            ends(gateway)
            ended += 1
            _await_more(*senders)
            gateway.start_again()
        for sender in senders:
            sender.stop()
        log = load_checks.stored(own.bootstrap_servers, topic)
    for sender in senders:
        load_checks.check_answered(sender)
        load_checks.check_log(log, sender)
    assert steady.sent.failed == steady.sent.unknown == []
    print(f"{atomic.sent.spanned} transactions went on at another gateway; {atomic.errors[:3]}")
    if ends is stopped:
        assert atomic.sent.spanned
        assert not atomic.sent.unknown
        assert atomic.sent.overtaken <= ended
        records = load.TransactionalClient.RECORDS
        aborted = atomic.sent.count // 4 + records * (1 + atomic.sent.overtaken)
        assert len(atomic.sent.failed) <= aborted, "more than were aborted on purpose"


def _await_more(*senders: load.Sender) -> None:
    before = [len(one.sent.acknowledged) for one in senders]

    def waiting() -> list[str]:
        return [
            f"{one.who}: {one.errors[-3:]}"
            for one, count in zip(senders, before, strict=True)
            if len(one.sent.acknowledged) <= count + 20
        ]

    with suppress(DeadlineError):  # the assertion names the client that is stuck
        wait_until(lambda: not waiting(), "all to go on", SECONDS)
    assert waiting() == []
