"""One policy class at work: made for one block of the configuration, in a thread of its own."""

from __future__ import annotations

import importlib
import inspect
import logging
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import Final

from gateway.foreign_text import MAX_SHOWN, raised_text, shown_text
from gateway.policies.interface import CreateTopicPolicy, PolicyViolation, RequestMetadata
from gateway.policies.own_thread import OwnThread, Raised, TooSlow
from gateway.policies.tree import Placed
from gateway.policies.violation import Violation

log = logging.getLogger(__name__)

RULE: Final = "create.topic.policy"

START_SECONDS: Final = 30.0
"""How long loading a class, making a policy and configuring it may take together."""

MAX_WAITING: Final = 1_000
"""Topics that wait for one policy; more are refused at once."""

MAX_MESSAGE: Final = 2_000
"""Characters of a policy's message that clients are shown."""

LOGGED_FAILURES: Final = 10
"""Failures that are logged between two collections, a second apart; all are counted."""

RAISED: Final = "raised"
TIMEOUT: Final = "timeout"
BUSY: Final = "busy"
"""Why a policy failed: labels of a metric."""

_NO_MESSAGE: Final = "Request parameters do not satisfy the configured policy."
"""What Kafka says where a PolicyViolationException has no message (Errors.POLICY_VIOLATION)."""


class Failures:
    """How often policies failed, by class and reason, until that is taken."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, class_name: str, reason: str) -> bool:
        """Count one. Whether it is among the first since the last time, which may be logged."""
        self._counts[class_name, reason] += 1
        return self._counts.total() <= LOGGED_FAILURES

    def take(self) -> Mapping[tuple[str, str], int]:
        """All since the last time."""
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
        self._who = f"{self._class_name}, {placed.setter}"

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
        """What the policy has against a topic. One that fails is against everything."""
        try:
            found = await self._thread.ask(lambda: self._validate(metadata), self._seconds)
        except TooSlow as slow:
            return self._too_slow(slow)
        if isinstance(found, Raised):
            if self._failures.add(self._class_name, RAISED):
                log.error("policy %s, failed on %s: %s", self._who, metadata.topic, found.text)
            return self._violation(f"The policy of this topic failed {self._set_where}.")
        return None if found is None else self._violation(found)

    async def close(self, seconds: float) -> None:
        """Close the policy once the calls under way have ended; wait ``seconds`` for that. It is
        closed once, however often it is asked for."""
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

    @property
    def _set_where(self) -> str:
        return f"(policies: {KEY}, {self._placed.setter})"

    def _too_slow(self, slow: TooSlow) -> Violation:
        milliseconds = self._placed.block.timeout_ms
        if self._failures.add(self._class_name, TIMEOUT if slow.begun else BUSY):
            if slow.begun:
                log.error("policy %s, does not answer within %d ms", self._who, milliseconds)
            else:
                log.error("policy %s, is busy, and not asked within %d ms", self._who, milliseconds)
        return self._violation(
            f"The policy of this topic did not answer within {milliseconds} ms {self._set_where}."
        )

    def _violation(self, message: str) -> Violation:
        return Violation(RULE, message, self._placed.source, self._placed.block.mode)

    # -- in its thread -------------------------------------------------------------------------

    def _make(self, configs: Mapping[str, str | None]) -> str | None:
        """Why there is no such class; None: the policy is made."""
        try:
            found = load_class(self._class_name)
        except PolicyError as error:
            return str(error)
        made = found()
        made.configure(MappingProxyType(dict(configs)))
        self._policy = made
        return None

    def _validate(self, metadata: RequestMetadata) -> str | Raised | None:
        """The message of its PolicyViolation; None: it allows it."""
        assert self._policy is not None, "it is asked before it has started"
        try:
            answer: object = self._policy.validate(metadata)
        except PolicyViolation as violation:
            return shown_text(violation, MAX_MESSAGE) or _NO_MESSAGE
        if answer is None:
            return None
        # Somebody expects `return False` to refuse: better to refuse than to misunderstand.
        returned = shown_text(type(answer).__name__, MAX_SHOWN)
        return Raised(f"validate() returned {returned}, and has to return nothing")

    def _close(self) -> None:
        policy, self._policy = self._policy, None
        if policy is not None:
            policy.close()


def gone(placed: Placed) -> Violation:
    """What is said for a class that was closed, which nobody should ask."""
    message = f"The policy of this topic was replaced (policies: {KEY}, {placed.setter})."
    return Violation(RULE, message, placed.source, placed.block.mode)


GROUP: Final = "kafka_gateway.create_topic_policies"
"""The group of entry points in which packages offer their policies."""

KEY: Final = "create.topic.policy.class.name"


class PolicyError(Exception):
    """There is no such policy, or it does not take its configuration; the text is a sentence that
    begins with the key, or with the class."""


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
    # Whatever a foreign module raises, SystemExit too, is about that module and not about us.
    except BaseException as error:  # noqa: BLE001
        raise PolicyError(f"'{name}' cannot be loaded: {raised_text(error)}") from None
    return found
