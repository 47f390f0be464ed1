"""The policy of a class: created for one block of the configuration, and run in a thread of its
own, because foreign code may block, raise anything, or never return."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from importlib.metadata import entry_points
from queue import SimpleQueue
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from gateway.foreign_text import MAX_SHOWN, raised_text, shown_text
from gateway.policies.interface import CreateTopicPolicy, PolicyViolation, RequestMetadata
from gateway.policies.tree import Placed
from gateway.policies.violation import Violation

log = logging.getLogger(__name__)

RULE: Final = "create.topic.policy"

START_SECONDS: Final = 30.0
"""Seconds for loading a class, creating a policy and configuring it together."""

MAX_WAITING: Final = 1_000
"""Topics that wait for one policy; further topics are rejected at once."""

MAX_MESSAGE: Final = 2_000
"""Characters of a policy's message that clients are shown."""

LOGGED_FAILURES: Final = 10
"""Failures that are logged between two collections, a second apart; all are counted."""

RAISED: Final = "raised"
TIMEOUT: Final = "timeout"
BUSY: Final = "busy"
"""Why a policy failed: labels of a metric."""

_NO_MESSAGE: Final = "Request parameters do not satisfy the configured policy."
"""Kafka's message for a PolicyViolationException without one (Errors.POLICY_VIOLATION)."""


_Answer = TypeVar("_Answer")


class TooSlow(Exception):
    """A call did not return in time. ``begun``: it had started; otherwise it was still waiting, and
    will not be run."""

    def __init__(self, *, begun: bool) -> None:
        super().__init__("no answer in time")
        self.begun = begun


class Raised(NamedTuple):
    """The exception of a call: the last line of its traceback."""

    text: str


class _Call(NamedTuple, Generic[_Answer]):
    run: Callable[[], _Answer]
    answer: Future[_Answer | Raised]


_Calls: TypeAlias = "SimpleQueue[_Call[Any] | None]"


class OwnThread:
    """Runs calls one after the other; at most ``max_waiting`` calls wait for their turn."""

    def __init__(self, name: str, max_waiting: int) -> None:
        self._max_waiting = max_waiting
        self._calls: _Calls = SimpleQueue()
        # A daemon thread, because a call that never returns must not keep the process from ending.
        threading.Thread(target=_work, args=(self._calls,), name=name, daemon=True).start()

    async def ask(self, run: Callable[[], _Answer], seconds: float) -> _Answer | Raised:
        """The result of ``run``, or its exception. Raises TooSlow after ``seconds``, waiting
        included, and at once if too many calls wait."""
        if self._calls.qsize() >= self._max_waiting:
            raise TooSlow(begun=False)
        answer = self._put(run)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            raise TooSlow(begun=not answer.cancel()) from None

    async def finish(self, run: Callable[[], _Answer], seconds: float) -> _Answer | Raised:
        """Run the last call, after all other calls. Raises TooSlow after ``seconds``; the call is
        run nevertheless, when the calls before it have ended."""
        answer = asyncio.wrap_future(self._put(run))
        self._calls.put(None)
        await asyncio.wait([answer], timeout=seconds)
        if not answer.done():
            raise TooSlow(begun=True)
        return answer.result()

    def _put(self, run: Callable[[], _Answer]) -> Future[_Answer | Raised]:
        call = _Call(run, Future[_Answer | Raised]())
        self._calls.put(call)
        return call.answer


def _work(calls: _Calls) -> None:
    while (call := calls.get()) is not None:
        if not call.answer.set_running_or_notify_cancel():
            continue  # the caller has given up
        try:
            answer = call.run()
        # SystemExit as well, because a call must end neither this thread nor the worker.
        except BaseException as error:  # noqa: BLE001
            answer = Raised(raised_text(error))
        call.answer.set_result(answer)


class Failures:
    """Counts of failures of policies, by class and reason, since the last collection."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, class_name: str, reason: str) -> bool:
        """Count a failure; returns whether to log it, as one of the first since the last
        collection."""
        self._counts[class_name, reason] += 1
        return self._counts.total() <= LOGGED_FAILURES

    def take(self) -> Mapping[tuple[str, str], int]:
        """The counts since the last call."""
        counts, self._counts = self._counts, Counter()
        return counts


class PolicyInstance:
    """The policy of one block. Its calls never overlap."""

    def __init__(self, placed: Placed, failures: Failures) -> None:
        assert placed.block.class_name is not None
        self.block = placed.block
        self._placed = placed
        self._class_name = placed.block.class_name
        self._seconds = placed.block.timeout_ms / 1_000
        self._failures = failures
        self._thread = OwnThread(f"policy {self._class_name}", MAX_WAITING)
        self._policy: CreateTopicPolicy | None = None  # set and used by its thread alone
        self._closing = False
        self._shown = f"{self._class_name}, {placed.setter}"
        self._set_where = f"(policies: {KEY}, {placed.setter})"

    async def start(self, configs: Mapping[str, str | None]) -> None:
        """Load the class, make a policy of it and configure it. Raises PolicyError."""
        try:
            failed = await self._thread.ask(lambda: self._make(configs), START_SECONDS)
        except TooSlow:
            failed = f"{self._class_name!r} is not configured within {START_SECONDS:g} s"
        if isinstance(failed, Raised):
            failed = f"{self._class_name!r} cannot be configured: {failed.text}"
        if failed is not None:
            raise PolicyError(f"{self._placed.source}.{KEY}: {failed}")

    async def why_not(self, metadata: RequestMetadata) -> Violation | None:
        """The violation that the policy finds in a topic; a policy that fails rejects every
        topic."""
        try:
            found = await self._thread.ask(lambda: self._validate(metadata), self._seconds)
        except TooSlow as slow:
            return self._too_slow(slow)
        if isinstance(found, Raised):
            if self._failures.add(self._class_name, RAISED):
                log.error("policy %s, failed on %s: %s", self._shown, metadata.topic, found.text)
            return self._violation(f"The policy of this topic failed {self._set_where}.")
        return None if found is None else self._violation(found)

    async def close(self, seconds: float) -> None:
        """Close the policy once the calls in progress have ended, and wait ``seconds`` for that.
        Later calls do nothing."""
        if self._closing:
            return
        self._closing = True
        try:
            closed = await self._thread.finish(self._close, seconds)
        except TooSlow:
            log.warning("policy %s is not closed within %g s", self._class_name, seconds)
            return
        if isinstance(closed, Raised):
            log.error("policy %s failed while it was closed: %s", self._class_name, closed.text)

    def _too_slow(self, slow: TooSlow) -> Violation:
        milliseconds = self._placed.block.timeout_ms
        if self._failures.add(self._class_name, TIMEOUT if slow.begun else BUSY):
            if slow.begun:
                log.error("policy %s, does not answer within %d ms", self._shown, milliseconds)
            else:
                log.error(
                    "policy %s, is busy, and not asked within %d ms", self._shown, milliseconds
                )
        return self._violation(
            f"The policy of this topic did not answer within {milliseconds} ms {self._set_where}."
        )

    def _violation(self, message: str) -> Violation:
        return Violation(RULE, message, self._placed.source, self._placed.block.mode)

    # -- in its thread -------------------------------------------------------------------------

    def _make(self, configs: Mapping[str, str | None]) -> str | None:
        """Why the class cannot be loaded, or None if the policy was created."""
        try:
            found = load_class(self._class_name)
        except PolicyError as error:
            return str(error)
        made = found()
        made.configure(MappingProxyType(dict(configs)))
        self._policy = made
        return None

    def _validate(self, metadata: RequestMetadata) -> str | Raised | None:
        """The message of the policy's PolicyViolation, or None if it allows the topic."""
        assert self._policy is not None, "it is asked before it has started"
        try:
            answer: object = self._policy.validate(metadata)
        except PolicyViolation as violation:
            return shown_text(violation, MAX_MESSAGE) or _NO_MESSAGE
        if answer is None:
            return None
        # The policy's author may expect `return False` to reject, so any other result rejects the
        # topic.
        returned = shown_text(type(answer).__name__, MAX_SHOWN)
        return Raised(f"validate() returned {returned}, and has to return nothing")

    def _close(self) -> None:
        policy, self._policy = self._policy, None
        if policy is not None:
            policy.close()


GROUP: Final = "kafka_gateway.create_topic_policies"
"""The group of entry points in which packages offer their policies."""

KEY: Final = "create.topic.policy.class.name"


class PolicyError(Exception):
    """A policy cannot be loaded, or rejects its configuration. The text is a sentence that begins
    with the key, or with the class."""


def load_class(name: str) -> type[CreateTopicPolicy]:
    """The class of a name: ``module:Class``, an entry point of :data:`GROUP`, or ``module.Class``.

    Importing a module runs it, for as long as it likes. Raises PolicyError with one sentence.
    """
    found = _loaded(name)
    if not (isinstance(found, type) and issubclass(found, CreateTopicPolicy)):
        raise PolicyError(
            f"'{name}' is no class that extends gateway.policies.interface.CreateTopicPolicy"
        )
    if inspect.isabstract(found):
        raise PolicyError(f"'{name}' has no validate(request_metadata); write it")
    for method in (found.configure, found.validate, found.close):
        if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
            raise PolicyError(
                f"'{name}' has an async {method.__name__}(); write it as a plain method,"
                " which has a thread of its own"
            )
    return found


def _loaded(name: str) -> object:
    module, colon, attribute = name.partition(":")
    if not colon:
        offered = entry_points(group=GROUP, name=name)
        if offered:
            entry = next(iter(offered))
            module, attribute = entry.module, entry.attr
        else:
            module, _, attribute = name.rpartition(".")
    if not module or not attribute:
        raise PolicyError(
            f"'{name}' is neither module:Class nor an entry point of the group {GROUP}"
        )
    try:
        found: object = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    # An exception of a foreign module, SystemExit too, must fail that module alone.
    except BaseException as error:  # noqa: BLE001
        raise PolicyError(f"'{name}' cannot be loaded: {raised_text(error)}") from None
    return found
