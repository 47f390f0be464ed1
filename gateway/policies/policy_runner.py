"""Runs policy classes beside the event loop, each in a thread of its own, and replaces them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from gateway.counts import Row
from gateway.policies.instance import KEY, RULE, Failures, PolicyInstance
from gateway.policies.interface import RequestMetadata
from gateway.policies.tree import Placed, Policies
from gateway.policies.violation import Violation

STOP_SECONDS = 2.0
"""Seconds for policies to close when the gateway stops."""

REPLACE_SECONDS = 60.0
"""Seconds for replaced policies to close: longer than any call may take. Nothing waits for this."""


class Generation:
    """The classes of one configuration, by the block that names each."""

    def __init__(self, instances: Iterable[PolicyInstance] = ()) -> None:
        # A block is known by its identity, because a reload may set an equal block anew.
        self._instances = {id(instance.block): instance for instance in instances}
        self._under_way = 0
        self._unused = asyncio.Event()
        self._unused.set()

    def of(self, placed: Placed) -> PolicyInstance | None:
        """The policy of a block, or None if the block belongs to another configuration."""
        return self._instances.get(id(placed.block))

    async def ask(self, instance: PolicyInstance, metadata: RequestMetadata) -> Violation | None:
        """The violation that a policy finds; :meth:`retire` waits for the call."""
        self._under_way += 1
        self._unused.clear()
        try:
            return await instance.why_not(metadata)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._unused.set()

    async def retire(self, seconds: float) -> None:
        """Close the policies once no call is in progress; each step takes up to ``seconds``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                # Count again: if several classes judge a topic, the judge has called the next one
                # before this task continues.
                while self._under_way:
                    await self._unused.wait()
        await self.close(seconds)

    async def close(self, seconds: float) -> None:
        """Close the policies; policies that do not end within ``seconds`` are left behind."""
        await asyncio.gather(*(each.close(seconds) for each in self._instances.values()))


class PolicyRunner:
    """The classes of the present configuration; former classes stay until no call needs them."""

    def __init__(self) -> None:
        self._failures = Failures()
        self._present = Generation()
        self._before: dict[Generation, asyncio.Task[None]] = {}

    async def prepare(self, policies: Policies, configs: Mapping[str, str | None]) -> Generation:
        """Create and configure the classes of a configuration, all at once. ``configs``: a
        broker's. Raises PolicyError for the first class that cannot be used, and closes all
        others."""
        made = [PolicyInstance(placed, self._failures) for placed in with_class(policies)]
        starts = [asyncio.ensure_future(each.start(configs)) for each in made]
        generation = Generation(made)
        try:
            await asyncio.gather(*starts)
        except BaseException:  # CancelledError as well: the reload is given up
            for start in starts:
                start.cancel()
            await asyncio.gather(*starts, return_exceptions=True)
            await self.discard(generation)
            raise
        return generation

    def take(self, generation: Generation) -> None:
        """Use these policies from now on; close the former policies once their calls have ended."""
        before, self._present = self._present, generation
        task = asyncio.get_running_loop().create_task(before.retire(REPLACE_SECONDS))
        self._before[before] = task
        task.add_done_callback(lambda _: self._before.pop(before, None))

    async def discard(self, generation: Generation) -> None:
        """Close policies that were prepared but are not used."""
        await generation.close(STOP_SECONDS)

    async def why_not(self, placed: Placed, metadata: RequestMetadata) -> Violation | None:
        """The violation that the class of a block finds; None also if the block names no class.

        Between the classes of one topic the judge awaits nothing else. So :meth:`Generation.retire`
        cannot close the later classes of a topic while an earlier one is being asked.
        """
        if placed.block.class_name is None:
            return None
        for generation in (self._present, *self._before):
            instance = generation.of(placed)
            if instance is not None:
                return await generation.ask(instance, metadata)
        # Defensive: the class of this block was closed, and should not be called any more.
        message = f"The policy of this topic was replaced (policies: {KEY}, {placed.setter})."
        return Violation(RULE, message, placed.source, placed.block.mode)

    async def close(self) -> None:
        """Close all policies, for :data:`STOP_SECONDS` at most."""
        present, self._present = self._present, Generation()
        before = list(self._before)
        for task in self._before.values():
            task.cancel()
        await asyncio.gather(*(each.close(STOP_SECONDS) for each in (present, *before)))

    def take_rows(self) -> list[Row]:
        """Failures of policies since the last call, by class and reason."""
        return [("policy_failures", labels, n) for labels, n in self._failures.take().items()]


def with_class(policies: Policies) -> Iterator[Placed]:
    """Every block that names a class."""
    seen: set[int] = set()
    for namespace in ("", *policies.settings.namespaces):
        for placed in policies.of(namespace):
            if placed.block.class_name is not None and id(placed.block) not in seen:
                seen.add(id(placed.block))
                yield placed
