"""Runs policy classes beside the event loop, each in a thread of its own, and replaces them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from gateway.counts import Row
from gateway.policies.instance import Failures, PolicyInstance, gone
from gateway.policies.interface import RequestMetadata
from gateway.policies.tree import Placed, Policies
from gateway.policies.violation import Violation

STOP_SECONDS = 2.0
"""How long policies may take to close when the gateway stops."""

REPLACE_SECONDS = 60.0
"""The same for those that were replaced: longer than any call may take; nobody waits for it."""


class Generation:
    """The classes of one configuration, by the block that names each."""

    def __init__(self, instances: Iterable[PolicyInstance] = ()) -> None:
        # A block is known by its identity: a reload may set the same one anew.
        self._instances = {id(instance.block): instance for instance in instances}
        self._under_way = 0
        self._unused = asyncio.Event()
        self._unused.set()

    def of(self, placed: Placed) -> PolicyInstance | None:
        """The policy of a block; None: it has none here."""
        return self._instances.get(id(placed.block))

    async def ask(self, instance: PolicyInstance, metadata: RequestMetadata) -> Violation | None:
        """What one of them has against a topic."""
        self._under_way += 1
        self._unused.clear()
        try:
            return await instance.why_not(metadata)
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._unused.set()

    async def retire(self, seconds: float) -> None:
        """Close all of them once nobody asks any more, and wait up to ``seconds`` for each step."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                # Whoever judges a topic by several classes has asked the next one by the time
                # that this goes on.
                while self._under_way:
                    await self._unused.wait()
        await self.close(seconds)

    async def close(self, seconds: float) -> None:
        """Close all of them; those that do not end within ``seconds`` are left behind."""
        await asyncio.gather(*(each.close(seconds) for each in self._instances.values()))


class PolicyRunner:
    """The classes of the present configuration; those before it stay until no call needs them."""

    def __init__(self) -> None:
        self._failures = Failures()
        self._present = Generation()
        self._before: dict[Generation, asyncio.Task[None]] = {}

    async def prepare(self, policies: Policies, configs: Mapping[str, str | None]) -> Generation:
        """Make and configure the classes of a configuration, all at once; ``configs`` are those of
        a broker. Raises PolicyError for the first that cannot be used, and closes the others."""
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
        """Ask these from now on, and close the others once the calls under way have ended."""
        before, self._present = self._present, generation
        task = asyncio.get_running_loop().create_task(before.retire(REPLACE_SECONDS))
        self._before[before] = task
        task.add_done_callback(lambda _: self._before.pop(before, None))

    async def discard(self, generation: Generation) -> None:
        """Close policies that were prepared and are not to be asked."""
        await generation.close(STOP_SECONDS)

    async def why_not(self, placed: Placed, metadata: RequestMetadata) -> Violation | None:
        """What the class of a block has against a topic; None also where it names no class.

        Whoever judges a topic by the blocks of one configuration goes from one to the next without
        waiting for anything else, so their classes stay open between two calls.
        """
        if placed.block.class_name is None:
            return None
        for generation in (self._present, *self._before):
            instance = generation.of(placed)
            if instance is not None:
                return await generation.ask(instance, metadata)
        return gone(placed)

    async def close(self) -> None:
        """Close all policies, for :data:`STOP_SECONDS` at most."""
        present, self._present = self._present, Generation()
        before = list(self._before)
        for task in self._before.values():
            task.cancel()
        await asyncio.gather(*(each.close(STOP_SECONDS) for each in (present, *before)))

    def take_rows(self) -> list[Row]:
        """How often policies failed since the last call, by class and reason."""
        return [("policy_failures", labels, n) for labels, n in self._failures.take().items()]


def with_class(policies: Policies) -> Iterator[Placed]:
    """Every block that names a class."""
    seen: set[int] = set()
    for namespace in ("", *policies.settings.namespaces):
        for placed in policies.of(namespace):
            if placed.block.class_name is not None and id(placed.block) not in seen:
                seen.add(id(placed.block))
                yield placed
