"""Whatever a catalog can hold, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    Gateway,
    Namespace,
    Removal,
    Seeds,
    TopicEntry,
    key_of,
)
from gateway.catalog.records import FORMAT
from gateway.names import LogicalName

times = st.integers(min_value=0, max_value=2**53)
topic_ids = st.none() | st.binary(min_size=16, max_size=16)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
tiers = st.text("abz09.-", min_size=1, max_size=4)
paths = st.lists(tiers, min_size=1, max_size=3).map(":".join)
topics = st.text("abz09._-", min_size=1, max_size=8)
names = st.builds(LogicalName, st.just("") | paths, topics)
keys = st.lists(texts, max_size=3).map(tuple)
aliases = st.builds(Alias, names, times, topic_ids)

namespaces = st.builds(
    Namespace,
    paths,
    st.dictionaries(texts, texts, max_size=3),
    st.none() | times,
    keys,
    times,
)
entries = st.builds(
    TopicEntry,
    topics,
    names,
    topic_ids,
    st.lists(aliases, max_size=2).map(tuple),
    keys,
    st.booleans(),
    st.booleans(),
    times,
)
gateways = st.builds(Gateway, texts.filter(bool), times, texts)
formats = st.builds(CatalogFormat, st.integers(min_value=1, max_value=FORMAT))
seeds = st.builds(Seeds, st.frozensets(paths, max_size=3))

entities = namespaces | entries | gateways | formats | seeds
changes: st.SearchStrategy[Change] = entities | entities.map(lambda one: Removal(key_of(one)))
