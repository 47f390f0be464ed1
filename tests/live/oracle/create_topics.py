"""Random CreateTopics requests, for the oracle of policies.

They are of every kind that a broker, or a policy, rejects, and of some that both accept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from hypothesis import strategies as st

VERSIONS: Final = range(8)
"""All versions ever: v0 has neither messages nor validate_only (KIP-108)."""

VALIDATE_ONLY_FROM: Final = 1

NUMBER: Final = "(n)"
"""A placeholder for a number in a topic's name that no other request has."""

EXISTING: Final = ("there", "there.too")
"""Topics that exist on both sides."""

_LONG: Final = "l" * 243
NEW_NAMES: Final = (f"a-{NUMBER}", f"b.{NUMBER}", f"b_{NUMBER}", f"c..{NUMBER}", f"{_LONG}{NUMBER}")
REFUSED_BY_POLICY: Final = (f"Capital-{NUMBER}", f"0-{NUMBER}")
REFUSED_BY_BROKER: Final = (
    *EXISTING,
    "there_too",
    "",
    ".",
    "..",
    "a b",
    "\u00e4",
    _LONG + "too-long",
)

_VALID_CONFIGS: Final[Mapping[str, tuple[str, ...]]] = {
    "retention.ms": ("86400000", "604800001", "-1", " 5 ", "+5"),
    "cleanup.policy": ("compact", "delete", "compact,delete"),
    "min.insync.replicas": ("1", "2"),
    "segment.bytes": ("1048576",),
    "compression.type": ("zstd",),
}
_BROKEN_CONFIGS: Final[Mapping[str, tuple[str | None, ...]]] = {
    "retention.ms": ("soon", "", None),
    "cleanup.policy": ("never",),
    "min.insync.replicas": ("0", None),
    "segment.bytes": ("1",),
    "compression.type": ("none",),
    "no.such.config": ("1", None),
}
_RETAINED: Final[dict[str, str | None]] = {"name": "retention.ms", "value": "86400000"}
"""A config that the policy requires."""


@dataclass(frozen=True, slots=True)
class Creation:
    """A request: ``topics`` as in the protocol, except NUMBER in their names."""

    version: int
    topics: tuple[Mapping[str, Any], ...]
    validate_only: bool
    timeout: timedelta

    def values(self, number: int) -> dict[str, object]:
        """The request's fields, with the number in the names."""
        topics = [
            {**topic, "name": topic["name"].replace(NUMBER, f"{number:06}")}
            for topic in self.topics
        ]
        values: dict[str, object] = {"topics": topics, "timeout": self.timeout}
        if self.version >= VALIDATE_ONLY_FROM:
            values["validate_only"] = self.validate_only
        return values


def _mostly(usual: st.SearchStrategy[Any], other: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The first strategy in three of four cases, otherwise the other."""
    return st.sampled_from((usual, usual, usual, other)).flatmap(lambda chosen: chosen)


_names = _mostly(st.sampled_from(NEW_NAMES), st.sampled_from(REFUSED_BY_POLICY + REFUSED_BY_BROKER))
_config = _mostly(
    *(
        st.sampled_from(
            [{"name": key, "value": value} for key, values in configs.items() for value in values]
        )
        for configs in (_VALID_CONFIGS, _BROKEN_CONFIGS)
    )
)


@st.composite
def _configs(draw: st.DrawFn) -> list[dict[str, str | None]]:
    """Often the config that the policy requires; a key may be there twice."""
    others = draw(st.lists(_config, max_size=2))
    return [_RETAINED, *others] if draw(_mostly(st.just(True), st.just(False))) else others


def _counts() -> st.SearchStrategy[dict[str, object]]:
    counts = _mostly(st.sampled_from((-1, 1, 2, 3, 6)), st.sampled_from((-2, 0, 7, 30)))
    factors = _mostly(st.sampled_from((-1, 2)), st.sampled_from((-2, 0, 1, 3)))
    return st.fixed_dictionaries({"num_partitions": counts, "replication_factor": factors})


_brokers = _mostly(
    st.sampled_from(((1, 2), (1,), (2, 1))), st.sampled_from(((), (9,), (1, 9), (1, 1), (-1,)))
)


@st.composite
def _assignments(draw: st.DrawFn) -> dict[str, object]:
    """Valid assignments, and each way in which assignments are invalid."""
    same = draw(_brokers)
    size = draw(st.sampled_from((1, 2, 3, 7)))
    indexes = draw(_mostly(st.just(range(size)), st.sampled_from(((0, 0), (0, 2), (1,), (-1,)))))
    each = [draw(_mostly(st.just(same), _brokers)) for _ in indexes]
    assigned = [
        {"partition_index": index, "broker_ids": brokers}
        for index, brokers in zip(indexes, each, strict=True)
    ]
    neither = st.just({"num_partitions": -1, "replication_factor": -1})
    return {**draw(_mostly(neither, _counts())), "assignments": assigned}


_topics = st.builds(
    lambda name, placed, configs: {"name": name, **placed, "configs": configs},
    _names,
    _mostly(_counts(), _assignments()),
    _configs(),
)


def creations(versions: range = VERSIONS) -> st.SearchStrategy[Creation]:
    """Requests of these versions, each for one to three topics; a name may be there twice."""
    return st.builds(
        Creation,
        version=st.sampled_from(versions),
        topics=st.lists(_topics, min_size=1, max_size=3).map(tuple),
        validate_only=_mostly(st.just(True), st.just(False)),
        timeout=st.sampled_from([timedelta(seconds=seconds) for seconds in (10, 30, 2_000_000)]),
    )
