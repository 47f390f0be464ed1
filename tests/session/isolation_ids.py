"""Ids that two worlds draw alike, in place of random ones."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final
from uuid import UUID


class CertainIds:
    """uuid4 in place of random numbers: the numbers depend on the operation alone."""

    def __init__(self) -> None:
        self.random = Random(0)

    def __call__(self) -> UUID:
        return UUID(int=self.random.getrandbits(128), version=4)


IDS: Final = CertainIds()


@contextmanager
def certain_ids() -> Iterator[None]:
    """Let all modules of the gateway draw their ids from ``IDS``, so that two worlds draw the
    same."""
    drawn = uuid.uuid4
    modules: list[Any] = [
        module
        for name, module in sorted(sys.modules.items())
        if name.startswith("gateway.") and getattr(module, "uuid4", None) is drawn
    ]
    for module in modules:
        module.uuid4 = IDS
    try:
        yield
    finally:
        for module in modules:
            module.uuid4 = drawn
