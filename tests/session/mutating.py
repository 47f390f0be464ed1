"""Frames that are almost right."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

Mutation = Callable[[bytes], bytes]

QUICK: Final = settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def framed(payload: bytes) -> bytes:
    """The payload with the size that it has."""
    return len(payload).to_bytes(4, "big") + payload


@st.composite
def mutations(draw: st.DrawFn) -> Mutation:
    """Something that goes wrong with a frame."""
    where = draw(st.floats(0, 1, exclude_max=True))
    kind = draw(st.sampled_from(["flip", "byte", "cut", "shrink", "grow", "size", "number"]))
    value = draw(st.integers(0, 255))
    more = draw(st.binary(max_size=12))

    def mutate(frame: bytes) -> bytes:
        payload = bytearray(frame[4:])
        at = int(where * len(payload))
        if kind == "flip":
            payload[at] ^= 1 << (value % 8)
        elif kind == "byte":
            payload[at] = value
        elif kind == "cut":
            return framed(bytes(payload[:at]))
        elif kind == "shrink":
            del payload[at : at + 1 + value % 8]
        elif kind == "grow":
            payload[at:at] = more
        elif kind == "size":
            return (len(payload) + value - 128).to_bytes(4, "big", signed=True) + frame[4:]
        else:
            payload[at : at + 4] = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff")[value % 2]
        return framed(bytes(payload))

    return mutate


MUTATED: Final = st.lists(mutations(), min_size=1, max_size=3)
"""What goes wrong with one frame."""


def mutated(frame: bytes, mutate: list[Mutation]) -> bytes:
    """The frame after all of it."""
    for one in mutate:
        if len(frame) > 4:
            frame = one(frame)
    return frame


def pieces(data: bytes, cuts: list[float]) -> list[bytes]:
    """The bytes, cut at these places (0 to 1)."""
    at = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    return [data[begin:stop] for begin, stop in pairwise(at)]
