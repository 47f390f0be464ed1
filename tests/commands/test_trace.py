"""``kafka-gateway trace``: what docs/cli.md shows, and the text of each kind of request."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gateway.commands.trace_text import RULES, request_text
from gateway.processes.held_catalogs import HeldCatalogs
from gateway.processes.operator_socket import OperatorSocket
from gateway.session.tracing import Tracing
from gateway.traced import Item, Outcome, TracedRequest
from tests.commands.cli_page import steps
from tests.commands.running import Said, command
from tests.config import config_samples
from tests.docs import markdown
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import batch, produce, produced
from tests.session.test_acls import pair as with_acls
from tests.waiting import eventually

ALLOWED, DENIED = "team-a:orders", "team-b:audit"
_TIMES = re.compile(r"\d+:\d\d:\d\d\.\d{3}|\d+\.\d\d ms|(?<= )[0-9,]+(?= bytes)")


def two_topics(pair: Pair) -> None:
    """A Produce to an allowed and a denied topic, and its response."""
    request = produce({topic: [batch(1)] for topic in (ALLOWED, DENIED)}, 9)
    pair.send(request_frame("Produce", 9, request, client_id=b"orders-service"))
    pair.answered(response_frame("Produce", 9, produced({"team-a..orders": [0]}, 9)))


async def traced(path: Path, words: tuple[str, ...], pass_by: Callable[[], None]) -> Said:
    """What a trace prints of the requests of a worker."""
    config = config_samples.config(path)
    tracing = Tracing(0)
    held = HeldCatalogs(config.gateway_id, {})
    worker = OperatorSocket(config.metrics.port, 0, held, tracing)
    await worker.start()
    try:
        said = asyncio.create_task(command(*words))
        await eventually(lambda: tracing._traces or said.done(), "the trace")
        pass_by()
        return await said
    finally:
        await worker.stop()


async def test_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config_samples.write(tmp_path)
    pair = with_acls(f"ALLOW WRITE User:alice TOPIC:LITERAL:{ALLOWED}")
    source = pair.session.state.source
    source.listener, source.principal = "colon", "User:alice"
    source.client_address = "10.0.0.5:53836"
    (step,) = steps("trace")
    said = await traced(tmp_path, step.words, lambda: two_topics(pair))
    assert (said.status, said.printed) == (step.status, "")
    assert _TIMES.sub("*", said.out) == _TIMES.sub("*", step.output)


async def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    config_samples.write(tmp_path)
    words = ("trace", "gateway.yaml", "--count", "1", "--json")
    said = await traced(tmp_path, words, lambda: two_topics(Pair()))
    assert said.status == 0
    (request,) = said.json["requests"]
    assert [item["at_broker"] for item in request["items"]] == ["team-a..orders", "team-b..audit"]


async def test_a_gateway_that_does_not_run(tmp_path: Path) -> None:
    path = config_samples.write(tmp_path)
    said = await command("trace", str(path))
    assert said.status == 69


@pytest.mark.parametrize(
    "words",
    [("--count", "0"), ("--count", "x"), ("--api", "Prodcue"), ("--listener", "x")],
    ids=" ".join,
)
async def test_flags_that_cannot_be_meant(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = config_samples.write(tmp_path)
    said = await command("trace", str(path), *words)
    assert said.status == 2
    assert words[1] in said.printed


def shown(**values: Any) -> list[str]:
    """The lines of a request."""
    request = TracedRequest(
        *(1_000_000_000_123, 0, "colon", "User:alice", "c", "10.0.0.5:1", "Produce", 9, 7),
        *(100, "gateway/apis/records/produce.py"),
    )
    for name, value in values.items():
        assert hasattr(request, name)
        setattr(request, name, value)
    return request_text(asdict(request)).splitlines()


def test_terminals_are_safe() -> None:
    lines = shown(client_id="\x1b[2J", items=[Item("topic", "a\nb\x1b")], reason="\u202e")
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 5


@pytest.mark.parametrize("outcome", Outcome)
def test_every_decision_has_its_words(outcome: Outcome) -> None:
    rows = markdown.table(markdown.read("docs/cli.md"), "decision")
    documented = [markdown.code(row[0]) for row in rows]
    (line,) = [line for line in shown(outcomes=[outcome]) if line.startswith("  decision")]
    assert [text for text in documented if text in line]


def test_every_rule_is_where_it_is_said_to_be() -> None:
    """Those of docs/operations.md; each file names its rule."""
    rows = markdown.table(markdown.read("docs/operations.md"), "`rule`")
    documented = {markdown.code(row[0]) for row in rows}
    assert documented <= RULES.keys()
    for rule, path in RULES.items():
        text = Path(path).read_text()
        constants = (f"{rule.upper()}_RULE", "POLICIES" if rule == "policies" else "")
        assert any(name in text for name in (f'"{rule}"', *filter(None, constants))), (rule, path)
