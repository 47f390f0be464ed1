"""Absolute names at another volume's listener get the same responses as relative names at home."""

from __future__ import annotations

import re

import pytest

from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.wire import Wire
from tests.live.tree import questions
from tests.live.tree.questions import Question

OF_LA = (":la:tracking:", "/la/tracking/", "..la.tracking..")
EXISTING, MISSING = "near-and-far", "nothing-here"

_OF_THE_LISTENER = re.compile(
    r"((port|cluster_id|controller_id|producer_id|producer_epoch)="
    r"|throttle_time=datetime\.timedelta)[^,)]*\)?"
)
"""Ports, and a listener's description of its own volume; and fields that count up."""

_NOT_YET = re.compile(r"error_code=(14|15|16)\b")
"""Error codes of a coordinator that is being created."""

QUESTIONS = [each for each in questions.BY_NAME if each[0] != "OffsetCommit"]
"""All requests except the one that also names a topic of the listener's volume."""


@pytest.fixture(scope="module")
def nodes(tree: GatewayProcess) -> tuple[str, str]:
    """The addresses of Los Angeles' broker at its own listener and at New York's listener."""
    own, other = tree.bootstrap_servers("la"), tree.bootstrap_servers("ny")
    clients.create(own, EXISTING)
    clients.await_led(own, EXISTING)
    far = OF_LA[0] + EXISTING
    return clients.leader_address(own, EXISTING), clients.leader_address(other, far)


def answer(address: str, question: Question, name: str) -> str:
    """The response about a name, once the coordinators are there."""
    api, version, fields = question

    def settled() -> str | None:
        with Wire(address) as wire:
            found = repr(wire.ask(api, version, **fields(name)))
        return None if _NOT_YET.search(found) else found

    found = wait_until(settled, f"an answer to {api}", clients.SECONDS)
    assert found is not None
    own = re.split("[:/.]", name)[-1]
    for shown in (name, *(before + own for before in OF_LA), own):  # brokers' texts have the last
        found = found.replace(shown, "(name)")
    if api == "CreateTopics":  # Kafka draws an id even if it only validates
        found = re.sub(r"topic_id=UUID\([^)]*\)", "", found)
    return _OF_THE_LISTENER.sub("", found)


@pytest.mark.parametrize("before", OF_LA)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda each: f"{each[0]}-v{each[1]}")
def test_from_afar_names_are_what_they_are_nearby(
    nodes: tuple[str, str], question: Question, before: str
) -> None:
    for name in (MISSING,) if question[0] == "DeleteTopics" else (EXISTING, MISSING):
        near = answer(nodes[0], question, name)
        assert answer(nodes[1], question, before + name) == near
