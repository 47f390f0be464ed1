"""FindCoordinator of a client that does not reach the coordinator that it was given."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.groups import sought_again
from gateway.apis.groups.sought_again import AGAIN, MOST_SOUGHT, REST_SECONDS
from gateway.error_codes import COORDINATOR_NOT_AVAILABLE
from protocol import messages
from protocol.messages import has_field
from tests.scenarios.entities import entity
from tests.session.pair import Pair
from tests.session.test_gateway_nodes import fleet, versions

SINGLE = [version for version in versions("FindCoordinator") if version < 4]
WITH_TYPES = SINGLE[-1]


class Clock:
    """Seconds that pass as the test sets."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(sought_again, "monotonic", clock)
    return clock


def is_told(pair: Pair, version: int = WITH_TYPES, key: str = "app", key_type: int = 0) -> bool:
    """Whether a request reaches the broker, which returns a coordinator."""
    cls = messages.message_class("FindCoordinatorRequest", version)
    values: dict[str, object] = {"key": key}
    if has_field(cls, "key_type"):
        values["key_type"] = key_type
    if pair.ask("FindCoordinator", version, entity(cls, values)) is None:
        told: Any = pair.answer("FindCoordinator", version)
        assert (told.error_code, told.node_id, told.host, told.port) == (
            *(COORDINATOR_NOT_AVAILABLE, -1),
            *("", -1),
        )
        return False
    response = messages.message_class("FindCoordinatorResponse", version)
    coordinator = {"error_code": 0, "node_id": 1, "host": "kafka", "port": 9092}
    told = pair.reply("FindCoordinator", version, entity(response, coordinator))
    assert (told.error_code, told.node_id) == (0, 1)
    return True


@pytest.mark.parametrize("version", SINGLE)
def test_who_asks_on_after_a_second_gets_one_error(version: int, clock: Clock) -> None:
    pair = fleet()
    told = []
    for _ in range(8):
        told.append(is_told(pair, version))
        clock.now += AGAIN[0] / 2
    assert told == [True, True, False, *[True] * 5]
    clock.now += REST_SECONDS
    assert not is_told(pair, version), "it asks still, or again"


def test_who_asks_again_much_later_is_told(clock: Clock) -> None:
    pair = fleet()
    for _ in range(3):
        assert is_told(pair)
        assert is_told(pair), "as quickly as clients ask at their start"
        clock.now += AGAIN[1]


def test_every_key_counts_for_itself(clock: Clock) -> None:
    pair = fleet()
    assert is_told(pair, key="app")
    clock.now += AGAIN[0]
    assert is_told(pair, key="other")
    assert is_told(pair, key="app", key_type=1)
    assert not is_told(pair, key="app")


def test_keys_are_not_remembered_without_end(clock: Clock) -> None:
    pair = fleet()
    for number in range(3 * MOST_SOUGHT):
        assert is_told(pair, key=f"app-{number}")
        assert len(pair.session.state.sought or ()) <= MOST_SOUGHT


def test_a_gateway_that_is_alone_forwards_every_request(clock: Clock) -> None:
    pair = fleet(1)
    for _ in range(4):
        assert is_told(pair)
        clock.now += AGAIN[0]
    assert pair.session.state.sought is None


def test_clients_that_ask_for_several_keys_go_by_the_address(clock: Clock) -> None:
    pair = fleet()
    cls = messages.message_class("FindCoordinatorRequest", 4)
    for _ in range(4):
        asked = entity(cls, {"key_type": 0, "coordinator_keys": ("app",)})
        assert pair.ask("FindCoordinator", 4, asked) is not None
        coordinators = [{"key": "app", "node_id": 1, "host": "kafka", "port": 9092}]
        response = messages.message_class("FindCoordinatorResponse", 4)
        pair.reply("FindCoordinator", 4, entity(response, {"coordinators": coordinators}))
        clock.now += AGAIN[0]
