"""Python's garbage collector, kept away while a large catalog is read."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collecting_no_garbage() -> Iterator[None]:
    """A large catalog is read much faster so, and what was read is not looked through for garbage
    again and again while clients wait."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
