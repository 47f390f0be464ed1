"""The protocol between a client under load, in a process of its own, and its test.

The client reports each fact as it happens, so that a crash loses nothing that was acknowledged
before. Its messages are changes of its facts, or None, which asks for the present state. The test's
messages are the responses, and None, after which the client should end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Generic, NamedTuple, TypeVar, TypeVarTuple

from confluent_kafka import KafkaError


class TopicState(NamedTuple):
    """The state that a client may query: the topic's name, and how often it was moved."""

    name: str
    moves: int = 0


@dataclass(slots=True)
class Facts:
    """The facts of a client, in its process and in its test.

    ``errors``: the errors that it reported, as text. Facts change only by their methods, which are
    called in both processes.
    """

    errors: list[str] = field(default_factory=list)

    def note(self, error: str) -> None:
        """Note an error that the client reported."""
        self.errors.append(error)

    def interrupt(self) -> None:
        """Note that the client's process has crashed; another process continues."""


Known = TypeVar("Known", bound=Facts)
Arguments = TypeVarTuple("Arguments")


class Line(Generic[Known]):
    """A client's connection to its test. For one thread."""

    def __init__(self, connection: Connection, facts: Known) -> None:
        self.facts = facts
        self._connection = connection
        self._stopping = False

    def tell(self, change: Callable[[Known, *Arguments], None], *arguments: *Arguments) -> None:
        """Change the facts in both processes, in the test's even if this process ends at once."""
        self._connection.send((change, arguments))
        change(self.facts, *arguments)

    def note(self, error: KafkaError | None) -> None:
        """Report an error."""
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
        """Whether the client should end: the test has sent None, or has ended."""
        # Except for responses, which now() waits for, the test sends nothing else.
        self._stopping = self._stopping or self._connection.poll()
        return self._stopping


class Client(ABC, Generic[Known]):
    """A client that is copied to a process of its own and runs there."""

    def __init__(self, who: str) -> None:
        self.who = who

    @abstractmethod
    def run(self, line: Line[Known]) -> None:
        """Continue from the known facts, until the line reports a stop."""
