"""bench.catalog_population: the measured catalog is a realistic one."""

from __future__ import annotations

from collections import Counter

from bench.catalog_population import NAMESPACES, TOPICS, namespaces, topics
from gateway.names import parents


def test_every_namespace_has_those_above_it() -> None:
    paths = [namespace.path for namespace in namespaces()]
    known: set[str] = set()
    for path in paths:
        assert known >= set(parents(path)[:-1]), path
        known.add(path)
    assert len(known) == len(paths) == NAMESPACES
    assert Counter(path.count(":") for path in paths) == {0: 100, 1: 900, 2: 9_000}


def test_every_topic_has_names_and_ids_of_its_own() -> None:
    entries = list(topics())
    names = [name for entry in entries for name in entry.names]
    ids = [entry.topic_id for entry in entries if entry.topic_id is not None]
    assert len({entry.flat for entry in entries}) == len(entries) == TOPICS
    assert len(set(names)) == len(names)
    assert len(set(ids)) == len(ids) == TOPICS * 2 // 5
    assert {len(topic_id) for topic_id in ids} == {16}
    assert sum(len(entry.aliases) for entry in entries) == TOPICS // 10


def test_topics_are_in_the_namespaces_there_are() -> None:
    paths = {namespace.path for namespace in namespaces(50)}
    held = Counter(name.namespace for entry in topics(500, 50) for name in entry.names)
    assert set(held) == paths
    assert list(topics(500, 50)) == list(topics(500, 50))


def test_a_million_namespaces_begin_with_the_ten_thousand() -> None:
    paths = [namespace.path for namespace in namespaces(NAMESPACES + 1_000)]
    assert paths[:NAMESPACES] == [namespace.path for namespace in namespaces()]
    known = set(paths)
    assert len(known) == len(paths) == NAMESPACES + 1_000
    assert all(known >= set(parents(path)) for path in paths)
    assert sum(1 for _ in namespaces(2_000_000)) == 1_000_000
