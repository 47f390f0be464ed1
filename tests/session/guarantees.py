"""Producers and policies for tests of the producer guarantee."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from gateway.config.policies import PolicySettings
from gateway.flows import Flow
from gateway.policies.tree import Policies
from protocol import messages
from tests.session.pair import Pair, frames, request_frame
from tests.session.producing import batch, produce

OWN = "team-a..orders"
RECORDS = bytes(range(256)) * 400
GOOD = batch(3, producer_id=5)
PLAIN = batch(3)
LEAST = timedelta(seconds=30)


def pair(topics: list[str] | None = None, **policies: Any) -> Pair:
    settings = PolicySettings.model_validate(policies)
    return Pair(topics=topics or (), policies=Policies(settings))


def requiring(**what: str) -> dict[str, Any]:
    """A block of policies."""
    return {"producer": what}


BOTH = requiring(acks="require", idempotence="require")
STRICT: dict[str, Any] = {"namespaces": {"team-a": BOTH}}
NUMBERED: dict[str, Any] = {"namespaces": {"team-a": requiring(idempotence="require")}}


def flows(made: Pair) -> dict[str, Flow]:
    return {flow.flat: flow for flow in made.session.state.take_flows()}


def weak(made: Pair) -> dict[str, dict[str, int]]:
    """The counts of weak producers, by flat topic."""
    return {flat: flow.weak for flat, flow in flows(made).items() if flow.weak}


def sent(made: Pair) -> list[Any]:
    """The Produce requests (version 9) that were sent to the broker."""
    payloads = frames(made.to_broker())
    start = len(request_frame("Produce", 9, produce({}))) - 4 - len(messages.write(produce({})))
    return [messages.parse("ProduceRequest", 9, payload[start:]) for payload in payloads]
