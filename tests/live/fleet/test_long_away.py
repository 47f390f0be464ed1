"""A gateway that stays away: its clients stay members of their groups at the other gateway."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import pytest

from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import Gateways, created
from tests.live.fleet.test_killed_gateways import killed, stopped
from tests.live.support import clients, steady

pytestmark = pytest.mark.alone

SECONDS = clients.SECONDS
SESSION: Final = {"session_timeout_ms": 9_000, "heartbeat_interval_ms": 1_000}
"""A short session, in which clients on a busy machine still find the other gateway.

They may first try nodes of the lost gateway, a second each.
"""


@pytest.mark.parametrize("ends", [stopped, killed])
def test_a_member_goes_on_while_a_gateway_is_away(
    ends: Callable[[GatewayProcess], None], gateways: Gateways
) -> None:
    """librdkafka would look for the coordinator at the lost gateway.

    It keeps a coordinator's address while its node id stays the same
    (gateway/apis/groups/sought_again.py).
    """
    topic = f"away-{ends.__name__}"
    servers = created(gateways, topic)
    for gateway in gateways:
        group = f"{topic}-{gateway.plan.metrics_port}"
        with (
            steady.producer("writer", servers, topic, ignoring=True) as writer,
            steady.member("reader", servers, group, topic, ignoring=True, **SESSION) as reader,
        ):
            reader.await_progress("the start", topic)
            ends(gateway)
            gone = time.monotonic()
            before = reader.rounds
            wait_until(
                lambda gone=gone: time.monotonic() > gone + 2 * SESSION["session_timeout_ms"] / 1e3,  # type: ignore[misc]
                "two sessions without the gateway",
                SECONDS,
            )
            assert reader.rounds > before
            reader.await_progress("two sessions", topic)
            writer.await_progress("two sessions", topic)
            assert reader.assignments == 1, "it had to join its group again"
        gateway.start_again()
