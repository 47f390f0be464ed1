"""What a client under load, in a process of its own, and its test have in common.

The client says what it learns as it happens, so that a crash takes nothing with it of what was
acknowledged before: a message is a change of its facts, or None, which asks how things are now.
The test's messages are the answers, and None, after which the client should end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Generic, NamedTuple, TypeVar, TypeVarTuple

from confluent_kafka import KafkaError


class TopicState(NamedTuple):
    """The state that a client may ask for: the topic's name, and how often it was moved."""

    name: str
    moves: int = 0


@dataclass(slots=True)
class Facts:
    """The facts of a client, in its process and in its test. ``errors`` are those that it was
    told of, as text. They change by their methods alone, which are called in both processes."""

    errors: list[str] = field(default_factory=list)

    def note(self, error: str) -> None:
        """Note an error that the client reported."""
        self.errors.append(error)

    def interrupt(self) -> None:
        """Note that the client's process has crashed; another one goes on."""


Known = TypeVar("Known", bound=Facts)
Arguments = TypeVarTuple("Arguments")


class Line(Generic[Known]):
    """A client's connection to its test. For one thread."""

    def __init__(self, connection: Connection, facts: Known) -> None:
        self.facts = facts
        self._connection = connection
        self._stopping = False

    def tell(self, change: Callable[[Known, *Arguments], None], *arguments: *Arguments) -> None:
        """Change the facts, here and there; there even if this process ends at once."""
        self._connection.send((change, arguments))
        change(self.facts, *arguments)

    def note(self, error: KafkaError | None) -> None:
        """Tell of an error."""
        self.tell(Facts.note, str(error))

    def now(self) -> TopicState:
        """The test's present state. Raises EOFError if the test has ended."""
        self._connection.send(None)
        while True:
            answer: TopicState | None = self._connection.recv()
            if answer is not None:
                return answer
            self._stopping = True

    def is_stopping(self) -> bool:
        """Whether the client should end: its test says so, or has ended."""
        # But for answers, which now() waits for, nothing else is ever said.
        self._stopping = self._stopping or self._connection.poll()
        return self._stopping


class Client(ABC, Generic[Known]):
    """A client that runs in a process of its own, to which it is copied."""

    def __init__(self, who: str) -> None:
        self.who = who

    @abstractmethod
    def run(self, line: Line[Known]) -> None:
        """Go on from what is known, until the line says to stop."""
