"""A traced request as ``kafka-gateway trace`` prints it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from gateway.commands.output import counted
from gateway.foreign_text import printable
from gateway.traced import Outcome

RULES: Final[Mapping[str, str]] = {
    "access": "gateway/rules/access.py",
    "acl": "gateway/views/authorized_access.py",
    "auto_creation": "gateway/apis/topics/metadata.py",
    "collision": "gateway/rules/access.py",
    "link": "gateway/views/access.py",
    "names": "gateway/views/view.py",
    "namespace": "gateway/views/view.py",
    "policies": "gateway/policies/judge.py",
    "producer_guarantee": "gateway/apis/records/producer_guarantee.py",
    "replica": "gateway/apis/records/fetch.py",
    "reserved": "gateway/views/names_of_view.py",
    "stale": "gateway/views/closed_view.py",
    "topic_id": "gateway/rules/rename.py",
    "topology": "gateway/apis/groups/streams_topology.py",
    "volume": "gateway/views/view.py",
}
"""The file in which each rule is decided, for the most part; docs/operations.md says what they are.
"""

_DECISIONS: Final[Mapping[str, str]] = {
    Outcome.FORWARD: "forwarded",
    Outcome.REBUILD: "rebuilt, and forwarded",
    Outcome.STREAM: "passed in pieces while the rest arrived",
    Outcome.ANSWER: "answered by the gateway",
    Outcome.WORK: "carried out by the gateway",
    Outcome.REFRESH: "decided again after a refresh",
    Outcome.CLOSE: "connection closed",
}
_NO_ERRORS: Final = "no errors"


def request_text(request: Mapping[str, Any]) -> str:
    """The request in some lines, the last one empty. Names are safe to show on a terminal."""
    return "\n".join(map(printable, _lines(request))) + "\n"


def _lines(request: Mapping[str, Any]) -> Iterator[str]:
    when = datetime.fromtimestamp(request["time_ms"] / 1000, UTC)
    client = f"{request['principal']} (client id '{request['client_id']}')"
    yield (
        f"{when:%H:%M:%S}.{request['time_ms'] % 1000:03} {request['api']} v{request['version']} of"
        f" {client} from {request['client_address']}"
    )
    yield _line(
        "client",
        f"{counted(request['request_bytes'], 'byte')} at listener {request['listener']}, worker"
        f" {request['worker']}, correlation id {request['correlation_id']}",
    )
    for item in request["items"]:
        yield _line(item["kind"], _item_text(item))
    if request["more_items"]:
        yield _line("", f"and {counted(request['more_items'], 'more item')}")
    yield _line("decision", _decision_text(request))
    if request["reason"]:
        yield _line("", request["reason"])
    if request["broker_seconds"] or request["broker_bytes"] is not None:
        yield _line("broker", _broker_text(request))
    if request["response_bytes"]:
        yield _line(
            "response",
            f"{counted(request['response_bytes'], 'byte')},"
            f" {_ms(request['gateway_seconds'])} in the gateway",
        )


def _line(about: str, text: str) -> str:
    return f"  {about:<17} {text}"


def _item_text(item: Mapping[str, Any]) -> str:
    if item["error"]:
        place = RULES.get(item["rule"], "")
        by = f"rule {item['rule']}" + (f" ({place})" if place else "")
        why = [item["message"], f"({item['because']})" if item["because"] else ""]
        return f"{item['name']}: {item['error']}, {by}: {' '.join(filter(None, why))}"
    stands_for = f" ({item['topic']})" if item["topic"] else ""
    allowed = f", allowed: {item['because']}" if item["because"] else ""
    if item["at_broker"] is None or item["at_broker"] == item["name"]:
        return f"{item['name']}{stands_for}{allowed}"
    return f"{item['name']} -> {item['at_broker']}{stands_for}{allowed}"


def _decision_text(request: Mapping[str, Any]) -> str:
    outcomes = ", ".join(_DECISIONS.get(one, one) for one in request["outcomes"])
    version = request["broker_version"]
    older = f" as v{version}" if version not in (None, request["version"]) else ""
    edits = f", {counted(request['edits'], 'edit')}" if request["edits"] else ""
    return f"{outcomes}{older}{edits} ({request['handler']})"


def _broker_text(request: Mapping[str, Any]) -> str:
    parts = [_ms(request["broker_seconds"])]
    if request["broker_bytes"] is not None:
        errors = ", ".join(f"{name} {times}x" for name, times in request["errors"].items())
        parts += [counted(request["broker_bytes"], "byte"), errors or _NO_ERRORS]
    return ", ".join(parts)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.2f} ms"
