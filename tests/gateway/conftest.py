"""What tests of sockets share."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from tests.gateway.bound_listener import Run, Test


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a test on an event loop of this kind."""

    def on_loop(test: Test) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(test())

    return on_loop
