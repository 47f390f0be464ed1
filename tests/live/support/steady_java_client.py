"""SteadyClient.java as a steady client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from devkit import java
from devkit.process import ManagedProcess
from devkit.waiting import wait_until
from tests.live.support import java_tools
from tests.live.support.steady import PAUSE, SECONDS, Steady

_EVENTS: Final = frozenset({"acked", "seen", "failed"})


def java_client(
    name: str,
    servers: str,
    topic: str,
    group: str,
    directory: Path,
    protocol: str = "classic",
    more: Mapping[str, str] | None = None,
) -> Steady:
    """Java's producer and a member of a group, with default settings and ``more``."""

    def work(steady: Steady) -> None:
        end, log = directory / f"{name}.end", directory / f"{name}.log"
        classes = java.compile_java(java_tools.SOURCES / "SteadyClient.java")
        arguments = [servers, str(end), str(int(PAUSE * 1_000)), topic, group, protocol]
        arguments += [f"{key}={value}" for key, value in (more or {}).items()]
        with java.start_java("SteadyClient", arguments, log, classes=classes) as process:
            with log.open() as lines:
                begun = ""
                while not steady.stopping.wait(0.01) and process.running:
                    begun = _take(steady, topic, begun + lines.read())
                end.touch()
                _await_end(process)
                _take(steady, topic, begun + lines.read())
            if process.returncode != 0:
                steady.problems.append(process.tail())

    return Steady(name, work)


def _take(steady: Steady, topic: str, text: str) -> str:
    """Note the printed lines; returns what is printed of the next one: a file may be read while a
    line is written to it."""
    *lines, begun = text.split("\n")
    for line in lines:
        event, _, rest = line.partition(" ")
        if event == "failed":
            steady.problems.append(rest)
        elif event in _EVENTS:
            (steady.acked if event == "acked" else steady.seen)[topic].append(rest)
            steady.rounds += 1
    return begun


def _await_end(process: ManagedProcess) -> None:
    wait_until(lambda: not process.running, f"the end of {process.name}", SECONDS)
