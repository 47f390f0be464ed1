"""Frames that are almost right, for hypothesis."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.session.mutations import KINDS, MOST_GROWN, Mutation, mutation

QUICK: Final = settings(
    max_examples=examples(15),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@st.composite
def mutations(draw: st.DrawFn) -> Mutation:
    """A mutation of a frame."""
    where = draw(st.floats(0, 1, exclude_max=True))
    kind = draw(st.sampled_from(KINDS))
    value = draw(st.integers(0, 255))
    return mutation(kind, where, value, draw(st.binary(max_size=MOST_GROWN)))


MUTATED: Final = st.lists(mutations(), min_size=1, max_size=3)
"""One to three mutations of the same frame."""


def pieces(data: bytes, cuts: list[float]) -> list[bytes]:
    """The bytes, cut at these places (0 to 1)."""
    at = sorted({0, len(data), *(int(cut * len(data)) for cut in cuts)})
    return [data[begin:stop] for begin, stop in pairwise(at)]
