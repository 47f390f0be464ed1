"""Kafka's own Java tools and the Java programs of this directory, run against an address."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from devkit import java
from devkit.broker_security import jaas_config
from devkit.java import JavaResult
from devkit.process import ManagedProcess
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.tool_server import ToolServer

SOURCES = Path(__file__).parent / "java"


@cache
def server() -> ToolServer:
    """The Java in which this session's tools run."""
    return ToolServer()


def run(
    main_class: str,
    servers: str,
    *args: str,
    stdin: str = "",
    properties: Mapping[str, str] | None = None,
) -> JavaResult:
    """Run a tool of Kafka's; the test fails unless the tool exits with 0."""
    result = attempt(main_class, servers, *args, stdin=stdin, properties=properties)
    assert result.returncode == 0, f"{main_class} {args}\n{result.stdout}\n{result.stderr}"
    return result


def attempt(
    main_class: str,
    servers: str,
    *args: str,
    stdin: str = "",
    properties: Mapping[str, str] | None = None,
) -> JavaResult:
    """Run a tool of Kafka's, whatever its exit status.

    ``properties`` are Java's, for this and all later calls.
    """
    command = ["--bootstrap-server", servers, *args]
    return server().run(main_class, command, stdin=stdin, properties=properties)


def topics(servers: str, *args: str) -> JavaResult:
    """Run ``kafka-topics``."""
    return run(java.TOPICS, servers, *args)


def list_topics(servers: str) -> set[str]:
    """The topics that ``kafka-topics --list`` prints."""
    return set(topics(servers, "--list").lines)


def configs(servers: str, *args: str) -> JavaResult:
    """Run ``kafka-configs``."""
    return run(java.CONFIGS, servers, *args)


def consumer_groups(servers: str, *args: str) -> JavaResult:
    """Run ``kafka-consumer-groups``."""
    return run(java.CONSUMER_GROUPS, servers, *args)


def console_produce(servers: str, topic: str, values: Sequence[str], *args: str) -> None:
    """Produce a record for each value by ``kafka-console-producer``."""
    text = "".join(f"{value}\n" for value in values)
    run(java.CONSOLE_PRODUCER, servers, "--topic", topic, *args, stdin=text)


def console_consume(servers: str, topic: str, count: int, *args: str) -> list[str]:
    """The first ``count`` records of a topic, by ``kafka-console-consumer``."""
    limits = ["--max-messages", str(count), "--timeout-ms", str(int(clients.SECONDS * 1_000))]
    options = ["--topic", topic, "--from-beginning", *limits, *args]
    return run(java.CONSOLE_CONSUMER, servers, *options).lines


def round_trip(
    servers: str, source: str, target: str, group: str, transactional_id: str
) -> list[dict[str, Any]]:
    """Run TransactionalRoundTrip.java; the events that it prints."""
    classes = java.compile_java(SOURCES / "TransactionalRoundTrip.java")
    args = [servers, source, target, group, transactional_id]
    result = java.run_java("TransactionalRoundTrip", args, seconds=240, classes=classes)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return events(result)


def events(result: JavaResult) -> list[dict[str, Any]]:
    """The events that a program of this directory has printed, each as a line of JSON."""
    return [json.loads(line) for line in result.lines]


def login_file(directory: Path, user: str, password: str, mechanism: str = "PLAIN") -> Path:
    """The ``--command-config`` file with which Kafka's tools, and the gateway's, log in."""
    path = directory / f"{user}-{mechanism}.properties"
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config={jaas_config(mechanism, user, password)}\n"
    )
    return path


class RunningProgram:
    """A Java program of this directory while it runs; it prints an event in a line, as JSON."""

    def __init__(self, process: ManagedProcess) -> None:
        self._process = process

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events that it has printed so far."""
        lines = self._process.log_path.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line[-1] == "\n"]


class RunningConsumer(RunningProgram):
    """RegexConsumer.java while it runs."""

    def topics(self, event: str) -> list[str]:
        """The topics of all events of a kind (``assigned``, ``revoked``, ``record``)."""
        return [entry["topic"] for entry in self.events if entry["event"] == event]

    def wait_for(self, event: str, topic: str, seconds: float = clients.SECONDS) -> dict[str, Any]:
        """Wait for an event of ``topic``; fails with what the program printed instead."""

        def seen() -> dict[str, Any] | None:
            assert self._process.running, f"the consumer ended\n{self._process.tail()}"
            found = (e for e in self.events if (e["event"], e["topic"]) == (event, topic))
            return next(found, None)

        entry = wait_until(seen, f"{event} {topic} in\n{self._process.tail()}", seconds)
        assert entry is not None
        return entry

    def wait_for_end(self, seconds: float = clients.SECONDS) -> int:
        """Wait until it has read its records; the exit status (1 if it ran out of time)."""
        wait_until(lambda: not self._process.running, "the end of the consumer", seconds)
        assert self._process.returncode is not None
        return self._process.returncode


@contextlib.contextmanager
def regex_consumer(
    servers: str, group: str, regex: str, count: int, log_path: Path, *classic: str
) -> Iterator[RunningConsumer]:
    """Start RegexConsumer.java, which ends after ``count`` records or 240 s.

    Its output is in ``log_path``. ``classic`` selects the classic protocol: ``topics``, or
    ``internal`` as well.
    """
    classes = java.compile_java(SOURCES / "RegexConsumer.java")
    args = [servers, group, regex, str(count), "240", *classic]
    with java.start_java("RegexConsumer", args, log_path, classes=classes) as process:
        yield RunningConsumer(process)
