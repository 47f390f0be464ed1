"""Mutations of a frame: of bits, bytes and lengths, and bytes left out or put in."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

Mutation = Callable[[bytes], bytes]

KINDS: Final = ("flip", "byte", "cut", "shrink", "grow", "size", "number")

MOST_GROWN: Final = 12
"""The most bytes that a mutation puts in."""


def framed(payload: bytes) -> bytes:
    """The payload behind its size."""
    return len(payload).to_bytes(4, "big") + payload


def mutation(kind: str, where: float, value: int, more: bytes) -> Mutation:
    """A mutation of the kind ``kind`` (:data:`KINDS`) at the place ``where``, from 0 up to 1, of
    the frame, with the byte ``value`` or the bytes ``more``."""

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


def at_random(random: Random) -> Mutation:
    """A mutation of any kind."""
    more = random.randbytes(random.randint(0, MOST_GROWN))
    return mutation(random.choice(KINDS), random.random(), random.randint(0, 255), more)


def mutated(frame: bytes, mutate: list[Mutation]) -> bytes:
    """The frame after all mutations, which stop if nothing is left of it."""
    for one in mutate:
        if len(frame) > 4:
            frame = one(frame)
    return frame
