"""Whatever clients send, a gateway afterwards holds the same resources and shows no defect.

``FUZZ_FRAMES`` is how many frames of each API and version are sent (``make fuzz-frames``),
``FUZZ_SEED`` the seed of their choice.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from random import Random
from uuid import UUID

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fuzz.frames import CASES, Fuzz, await_held, internal_errors, resources
from tests.live.support import clients
from tests.live.support.wire import Wire

pytestmark = pytest.mark.long("searches")

FRAMES = int(os.environ.get("FUZZ_FRAMES", "10"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))

MORE_DESCRIPTORS = 4
"""The gateway's own connections to brokers, which it opens on demand and keeps."""

MORE_KIB = 64 * 1024


@pytest.fixture(scope="module")
def fuzzed(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    """A gateway that only these tests use."""
    password = tmp_path_factory.mktemp("users") / "alice"
    password.write_text("wonderland\n")
    asks = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl": {"mechanisms": ["PLAIN"], "users": {"alice": {"file": str(password)}}},
    }
    listeners = [
        Listener("home", "team-a is home", home="team-a"),
        Listener("login", "asks everybody", security=asks),
    ]
    with GatewayProcess(kafka.bootstrap_servers, listeners, ["team-a"]) as process:
        yield process


@pytest.fixture(scope="module")
def topic_id(fuzzed: GatewayProcess) -> UUID:
    """The id of the only topic."""
    made = {"name": "fuzz", "num_partitions": 1, "replication_factor": 1}
    with Wire(fuzzed.bootstrap_servers("home")) as wire:
        (answer,) = wire.ask("CreateTopics", 4, topics=[made]).topics
        assert not answer.error_code

        def known() -> UUID | None:
            (topic,) = wire.ask("Metadata", 12, topics=[{"name": "fuzz"}]).topics
            return None if topic.error_code else topic.topic_id

        found = wait_until(known, "the id of the topic", clients.SECONDS)
    assert isinstance(found, UUID)
    return found


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("listener", "times"), [("home", FRAMES), ("login", 1 + FRAMES // 5)])
def test_frames_that_are_almost_right(
    fuzzed: GatewayProcess, topic_id: UUID, listener: str, times: int
) -> None:
    """From clients that need no login, and from clients that have not logged in yet."""
    fuzz = Fuzz(fuzzed.bootstrap_servers(listener), Random(SEED), topic_id)
    fuzz.run(CASES, 1)  # the gateway's lasting objects exist now
    before = await_held(fuzzed, lambda now: not now.connections, "connections end")
    fuzz.run(CASES, times)
    await_held(
        fuzzed,
        lambda now: (
            not now.connections and now.descriptors <= before.descriptors + MORE_DESCRIPTORS
        ),
        "connections end, on both sides",
    )
    assert resources(fuzzed).kib <= before.kib + MORE_KIB
    assert internal_errors(fuzzed) == 0
    assert "Traceback" not in fuzzed.log()
    assert "never awaited" not in fuzzed.log()
    assert fuzz.sent.connections == 2 * (1 + times) * len(CASES)
    assert fuzz.sent.ended > len(CASES)
    # Before a login few requests are answered, and requests behind them even less.
    assert listener == "login" or fuzz.sent.answered > len(CASES)
    with Wire(fuzzed.bootstrap_servers(listener)) as wire:
        assert wire.ask("ApiVersions", 0).api_keys, "it serves on"
    assert fuzzed.get("/readyz")[0] == 200
