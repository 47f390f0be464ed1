"""gateway.page.fleet: other gateways' responses to /summary, and bad responses."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from gateway.page.feed import encode_event
from gateway.page.fleet import EVERY_SECONDS, FleetFigures, checked, page_of
from tests.waiting import eventually

SECOND = {"requests": 3.0, "bytes_in": 1, "bytes_out": 2, "errors": 0, "denials": 0, "time": 9}
ANSWER: Mapping[str, Any] = {"id": "gw-b", "ready": True, "connections": 4, "second": SECOND}


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def serving(answers: Mapping[str, Any], asked: list[str]) -> AsyncIterator[str]:
    """A port at which gateways respond by their ids; yields the URL for all of them."""

    async def answer(request: web.Request) -> web.Response:
        gateway_id = request.match_info["id"]
        asked.append(gateway_id)
        found = answers[gateway_id]
        return found if isinstance(found, web.Response) else web.json_response(found)

    app = web.Application()
    app.router.add_get("/{id}/summary", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/{{gateway_id}}"
    await runner.cleanup()


async def test_the_figures_of_the_others() -> None:
    asked: list[str] = []
    moved = web.Response(status=302, headers={"Location": "http://example.org/"})
    answers = {"gw-b": ANSWER, "gw-c": {**ANSWER, "id": "gw-x"}, "gw-d": moved}
    clock = Clock()
    async with serving(answers, asked) as url:
        fleet = FleetFigures(url, "gw-a", clock)
        for _ in range(3):
            fleet.look(["gw-a", "gw-b", "gw-c", "gw-d", "gw-b"])
            await eventually(lambda: len(fleet.items()) == 3, "figures")
        assert sorted(asked) == ["gw-b", "gw-c", "gw-d"]
        clock.now += EVERY_SECONDS
        fleet.look(["gw-b"])
        await eventually(lambda: len(asked) == 4, "another request")
        await eventually(lambda: list(fleet.items()) == ["gw-b"], "the figures")
        figures = {name: value for name, value in SECOND.items() if name != "time"}
        assert fleet.items() == {"gw-b": {"ready": True, "connections": 4, "second": figures}}


async def test_who_does_not_answer_and_who_is_another() -> None:
    async with serving({"gw-c": {**ANSWER, "id": "gw-x"}}, []) as url:
        fleet = FleetFigures(url, "gw-a")
        fleet.look(["gw-c"])
        await eventually(lambda: fleet.items(), "figures")
        assert fleet.items() == {"gw-c": {"problem": "gw-x answers there"}}
    gone = FleetFigures(url, "gw-a")
    gone.look(["gw-c"])
    await eventually(lambda: gone.items(), "figures")
    assert gone.items() == {"gw-c": {"problem": "no connection"}}
    gone.begin()
    assert gone.items() == {}


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {**ANSWER, "ready": "yes"},
        {**ANSWER, "connections": None},
        {**ANSWER, "second": {}},
        {**ANSWER, "second": {**SECOND, "errors": "<b>"}},
        {**ANSWER, "second": {**SECOND, "errors": float("nan")}},
        {**ANSWER, "second": {**SECOND, "bytes_in": float("inf")}},
        {**ANSWER, "second": {**SECOND, "bytes_in": 10**400}},
        {**ANSWER, "second": {**SECOND, "requests": True}},
        {**ANSWER, "second": {**SECOND, "requests": -1}},
        {**ANSWER, "connections": 10**400},
        {**ANSWER, "connections": True},
    ],
)
def test_what_is_no_answer(answer: object) -> None:
    with pytest.raises(ValueError, match="no page of this version"):
        checked(answer, "gw-b")


HOSTILE = {
    "nested too deep": "[" * 10_000,
    "no number of JSON": json.dumps({**ANSWER, "second": {**SECOND, "errors": float("nan")}}),
    "half a surrogate pair": json.dumps({**ANSWER, "id": "\ud800"}),
    "control characters": json.dumps({**ANSWER, "id": "\x1b[2K\n"}),
    "no encoding": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
async def test_whatever_answers_is_a_problem_of_that_gateway_alone(content: str | bytes) -> None:
    body = content if isinstance(content, bytes) else content.encode()
    async with serving({"gw-b": ANSWER, "gw-c": web.Response(body=body)}, []) as url:
        fleet = FleetFigures(url, "gw-a")
        fleet.look(["gw-b", "gw-c"])
        await eventually(lambda: fleet.items(), "figures")
        assert fleet.items()["gw-b"]["connections"] == ANSWER["connections"]
        (problem,) = fleet.items()["gw-c"].values()
        assert problem.isprintable()
        encode_event(fleet.items())  # the events of the page


def test_an_id_is_no_more_than_a_part_of_the_address() -> None:
    assert page_of("http://example.org/{gateway_id}", "a/../b") == "http://example.org/a%2F..%2Fb/"
