"""Which cores run what while CPU time is measured: the proxies have one to themselves.

Left to the scheduler, a proxy on two busy cores is woken now for every response and now for
twenty at once, and the CPU time of a request varies fivefold from one second to the next, for
every proxy alike. On a core that it shares with idle peers only, it varies by some percent.
Latencies are measured with everything free to run anywhere, as it would: one more core to wake
is what a proxy that is kept apart would pay for, not what it costs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self


@dataclass(frozen=True, slots=True)
class Cores:
    """The proxies' core, those of everything else (the same one if there is one), and all."""

    proxies: frozenset[int]
    others: frozenset[int]

    @classmethod
    def of_this_machine(cls) -> Self:
        """The last core that this process may use, and the others."""
        cores = sorted(os.sched_getaffinity(0))
        return cls(frozenset(cores[-1:]), frozenset(cores[:-1] or cores))

    @property
    def all(self) -> frozenset[int]:
        """Every core."""
        return self.proxies | self.others


@contextlib.contextmanager
def running_on(cores: frozenset[int]) -> Iterator[None]:
    """Keep this thread, and every process that it starts meanwhile, on ``cores``."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def place(pids: Iterable[int], cores: frozenset[int]) -> None:
    """Let every thread of ``pids`` run on ``cores`` only, until told otherwise."""
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            # Threads come and go; new ones take after the one that starts them.
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), cores)
