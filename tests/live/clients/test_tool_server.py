"""tests.live.support.tool_server: a tool run by it does the same as in a JVM of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from devkit import java
from devkit.java import JavaError
from tests.live.support import clients
from tests.live.support.tool_server import ToolServer
from tests.pace import Pace


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolServer]:
    server = ToolServer()
    yield server
    server.close()


LISTED = "tool-server-listed"


@pytest.fixture(scope="module")
def _topic(admin: str) -> Iterator[None]:
    """The only topic that the tools list: other tests' topics may still be in deletion."""
    clients.create(admin, LISTED)
    yield
    clients.done(clients.admin(admin).delete_topics([LISTED]))


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        (java.TOPICS, ["--list", "--topic", LISTED]),
        (java.TOPICS, ["--describe", "--topic", "no-such-topic"]),
        (java.TOPICS, ["--no-such-option"]),
        (java.CONFIGS, ["--describe", "--entity-type", "users"]),
        (java.CONFIGS, ["--describe", "--entity-type", "no-such-type"]),
        (java.ACLS, ["--list"]),
        (java.CONSUMER_GROUPS, ["--describe", "--group", "no-such-group"]),
    ],
)
@pytest.mark.usefixtures("_topic")
def test_status_and_output(tools: ToolServer, admin: str, tool: str, args: list[str]) -> None:
    """The output has nothing of an earlier tool's output."""
    command = ["--bootstrap-server", admin, *args]
    alone, here = java.run_java(tool, command), tools.run(tool, command)
    assert here.returncode == alone.returncode
    assert without_stacks(here.stdout) == without_stacks(alone.stdout)
    assert without_stacks(here.stderr) == without_stacks(alone.stderr)


def without_stacks(text: str) -> list[str]:
    """The output of a tool without Java's stack traces and the number of tries."""
    lines = (line for line in text.splitlines() if not line.startswith("\t"))
    return [line for line in lines if " WARN " not in line and not line.startswith("[")]


def test_a_tool_that_takes_too_long_is_ended_and_the_next_one_runs(
    tools: ToolServer, admin: str, pace: Pace
) -> None:
    began = time.monotonic()
    with pytest.raises(JavaError, match=r"TopicCommand .* did not end within 2 s"):
        tools.run(java.TOPICS, ["--bootstrap-server", "127.0.0.1:1", "--list"], seconds=2)
    assert time.monotonic() - began < pace.stretched(10)
    assert tools.run(java.TOPICS, ["--bootstrap-server", admin, "--list"]).returncode == 0
