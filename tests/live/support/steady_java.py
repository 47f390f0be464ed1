"""SteadyProducer.java while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devkit import java
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools


class JavaProducer(java_tools.RunningProgram):
    """The producer, and its acknowledged records."""

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The records that it could not send."""
        return [each for each in self.events if each["event"] == "failed"]

    def acked(self, topic: str) -> list[str]:
        """The values of a topic's acknowledged records."""
        events = (each for each in self.events if each["event"] == "acked")
        return [each["value"] for each in events if each["topic"] == topic]

    def await_acked(self, more: int) -> None:
        """Wait until it has had so many more acknowledgements."""
        log = self._process.log_path
        before = log.read_text().count('"acked"')

        def done() -> bool:
            assert self._process.running, self._process.tail()
            return log.read_text().count('"acked"') >= before + more

        wait_until(done, f"acknowledgements in\n{self._process.tail()}", clients.SECONDS)


@contextmanager
def java_producer(
    servers: str, directory: Path, *topics: str, pause_ms: int = 50
) -> Iterator[JavaProducer]:
    """Start the producer; it runs until the end of the ``with``, and no record may fail."""
    end, log = directory / "end", directory / "producer.log"
    classes = java.compile_java(java_tools.SOURCES / "SteadyProducer.java")
    args = [servers, str(end), str(pause_ms), *topics]
    with java.start_java("SteadyProducer", args, log, classes=classes) as process:
        producer = JavaProducer(process)
        producer.await_acked(20)
        yield producer
        end.touch()
        wait_until(lambda: not process.running, "the end of the producer", clients.SECONDS)
        assert process.returncode == 0, process.tail()
