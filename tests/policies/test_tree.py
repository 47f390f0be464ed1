"""gateway.policies.tree: which blocks apply where, and which set the rules for producers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.names import parents
from gateway.policies import tree
from gateway.policies.declared import violations
from gateway.policies.interface import RequestMetadata
from gateway.policies.tree import NO_POLICIES, Guarantee, Policies
from tests.policies.samples import asked, policies

A_RULE = {"max_topics": 1}
PATHS = ["org", "org:apache", "org:apache:kafka", "other"]


def sources(written: Policies, namespace: str) -> list[str]:
    return [placed.source for placed in written.of(namespace)]


def test_blocks_from_the_outermost_on() -> None:
    written = policies(A_RULE, A_RULE, org_apache=A_RULE, other=A_RULE, org=A_RULE)
    everywhere = "policies.everywhere"
    org, apache = "policies.namespaces.org", "policies.namespaces.org:apache"
    assert sources(written, "") == [everywhere, "policies.default_namespace"]
    assert sources(written, "org") == [everywhere, org]
    assert sources(written, "org:apache") == [everywhere, org, apache]
    assert sources(written, "org:apache:kafka") == [everywhere, org, apache]
    # A path that only begins like another path is not below it.
    assert sources(written, "orga") == [everywhere]


def test_who_set_it() -> None:
    written = policies(A_RULE, A_RULE, org=A_RULE)
    found = [placed for path in ("", "org") for placed in written.of(path)]
    assert [(placed.setter, placed.namespace) for placed in found] == [
        ("set for every namespace", None),
        ("set for the default namespace", ""),
        ("set for every namespace", None),
        ("set by namespace 'org'", "org"),
    ]


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"mode": "warn"},
        {"create.topic.policy.timeout.ms": 50},
        {"producer": {"acks": "require"}},
        {"configs": {}},
    ],
)
def test_a_block_without_rules_has_no_say_in_topics(keys: Mapping[str, Any]) -> None:
    written = policies(org=keys)
    assert not written.judges
    assert written.of("org") == ()


@pytest.mark.parametrize(
    "keys",
    [
        {"create.topic.policy.class.name": "acme"},
        {"partitions": {"min": 1}},
        {"retention.ms": {"min": 1}},
        {"configs": {"allowed": []}},
        {"configs": {"forbidden": ["x"]}},
        {"name_pattern": "x"},
        {"max_topics": 0},
    ],
)
def test_a_block_with_a_rule_has(keys: Mapping[str, Any]) -> None:
    written = policies(org=keys)
    assert written.judges
    assert written.of("org:apache")
    assert not written.of("other")
    assert not written.of("")


def test_counting() -> None:
    assert not NO_POLICIES.counts
    assert not policies(org={"partitions": {"max": 1}}).counts
    for key in ("max_topics", "max_partitions", "max_topics_in_tree", "max_partitions_in_tree"):
        assert policies(default_namespace={key: 0}).counts
        assert policies(org={key: 1}).counts


# -- the producer guarantee ------------------------------------------------------------------


def test_the_guarantee_by_default() -> None:
    assert NO_POLICIES.guarantee("") == Guarantee("observe", "observe")
    assert NO_POLICIES.guarantee("org") == Guarantee("upgrade", "observe")
    assert NO_POLICIES.guarantee("org").acks_source == "the default"


def test_the_innermost_block_that_says_so_decides() -> None:
    written = policies(
        everywhere={"producer": {"acks": "require", "idempotence": "require"}},
        org={"producer": {"acks": "observe"}},
        org_apache={"producer": {"idempotence": "observe"}},
    )
    assert written.guarantee("other").flags == tree.REQUIRE_ACKS | tree.REQUIRE_IDEMPOTENCE
    assert written.guarantee("").acks == "require"
    assert written.guarantee("org:apache:kafka") == Guarantee(
        "observe", "observe", "policies.namespaces.org", "policies.namespaces.org:apache"
    )
    assert written.guarantee("org") == Guarantee(
        "observe", "require", "policies.namespaces.org", "policies.everywhere"
    )


def test_the_default_namespace_alone() -> None:
    written = policies(default_namespace={"producer": {"acks": "upgrade"}})
    assert written.guarantee("") == Guarantee("upgrade", "observe", "policies.default_namespace")
    assert written.guarantee("org").acks_source == "the default"


@pytest.mark.parametrize(
    ("guarantee", "flags"),
    [
        (Guarantee("observe", "observe"), 0),
        (Guarantee("upgrade", "observe"), tree.UPGRADE_ACKS),
        (Guarantee("require", "observe"), tree.REQUIRE_ACKS),
        (Guarantee("upgrade", "require"), tree.UPGRADE_ACKS | tree.REQUIRE_IDEMPOTENCE),
    ],
)
def test_flags(guarantee: Guarantee, flags: int) -> None:
    assert guarantee.flags == flags


# -- caches and properties -------------------------------------------------------------------


def test_what_was_found_is_kept_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "CACHE_LIMIT", 2)
    written = policies(org=A_RULE)
    first = written.of("org")
    assert written.of("org") is first
    assert written.guarantee("org") is written.guarantee("org")
    for index in range(5):
        assert sources(written, f"org:n{index}") == ["policies.namespaces.org"]
        assert written.guarantee(f"org:n{index}").acks == "upgrade"
    assert len(written._placed) <= 2
    assert len(written._guarantees) <= 2


def _range(most: int) -> st.SearchStrategy[dict[str, int]]:
    """A range from nothing to everything, and never the wrong way round."""
    ends = st.tuples(st.integers(0, most), st.integers(0, most)).map(sorted)
    return ends.flatmap(
        lambda pair: st.sampled_from(
            [{"min": pair[0]}, {"max": pair[1]}, {"min": pair[0], "max": pair[1]}]
        )
    )


BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "partitions": _range(6),
        "replication_factor": _range(4),
        "retention.ms": _range(3),
        "name_pattern": st.sampled_from(["[a-z]+", "orders.*", ".*-v2", ".*"]),
        "configs": st.fixed_dictionaries(
            {},
            optional={
                "forbidden": st.lists(st.sampled_from(["segment.ms", "retention.ms"])),
                "ranges": st.dictionaries(st.just("segment.ms"), _range(3)),
            },
        ),
    },
)
TOPICS = st.builds(
    asked,
    topic=st.builds(
        "{}:{}".format, st.sampled_from(PATHS), st.sampled_from(["orders", "orders-v2", "Other"])
    ),
    partitions=st.integers(0, 7) | st.none(),
    replication_factor=st.integers(0, 5),
    configs=st.dictionaries(
        st.sampled_from(["segment.ms", "retention.ms", "cleanup.policy"]),
        st.sampled_from(["-1", "0", "1", "2", "3", "x"]),
    ),
)


def rejected(blocks: Mapping[str, Mapping[str, Any]], metadata: RequestMetadata) -> set[str]:
    everywhere = blocks.get("everywhere", {})
    named = {path.replace(":", "_"): keys for path, keys in blocks.items() if path != "everywhere"}
    written = policies(everywhere, **named)
    found = [violations(placed, metadata) for placed in written.of(metadata.namespace)]
    return {one.message for some in found for one in some}


@given(
    st.dictionaries(st.sampled_from(["everywhere", *PATHS]), BLOCKS),
    st.sampled_from(["everywhere", *PATHS]),
    BLOCKS,
    TOPICS,
)
def test_one_more_block_never_allows_more(
    blocks: dict[str, dict[str, Any]], where: str, more: dict[str, Any], metadata: RequestMetadata
) -> None:
    without = {path: keys for path, keys in blocks.items() if path != where}
    assert rejected(without, metadata) <= rejected({**without, where: more}, metadata)


@given(st.dictionaries(st.sampled_from(PATHS), BLOCKS, min_size=1), TOPICS)
def test_only_blocks_around_a_topic_have_a_say(
    blocks: dict[str, dict[str, Any]], metadata: RequestMetadata
) -> None:
    around = {path: keys for path, keys in blocks.items() if path in parents(metadata.namespace)}
    assert rejected(blocks, metadata) == rejected(around, metadata)
