"""Anything that a catalog can hold, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    ClientMetrics,
    Gateway,
    Link,
    Namespace,
    PrincipalHome,
    Removal,
    ResourceAcls,
    ScramCredential,
    Seeds,
    TopicEntry,
    Volume,
    key_of,
)
from gateway.catalog.log.records import FORMAT
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
    st.dictionaries(texts, texts, max_size=2),
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
links = st.builds(Link, names, topics, st.binary(min_size=16, max_size=16), st.just("") | texts)
gateways = st.builds(Gateway, texts.filter(bool), times, texts)
formats = st.builds(CatalogFormat, st.integers(min_value=1, max_value=FORMAT))
seeds = st.builds(Seeds, st.frozensets(paths, max_size=3))

some_text = texts.filter(bool)
patterns = st.builds(
    ResourcePattern,
    st.sampled_from([kind for kind in ResourceType if kind > ResourceType.ANY]),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    some_text | paths,
)
acl_entries = st.builds(
    AclEntry,
    some_text,
    some_text,
    st.sampled_from([operation for operation in Operation if operation > Operation.ANY]),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
)
acls = st.builds(ResourceAcls, patterns, st.frozensets(acl_entries, min_size=1, max_size=3))
credentials = st.builds(
    ScramCredential,
    some_text,
    st.sampled_from(["SCRAM-SHA-256", "SCRAM-SHA-512"]),
    times,
    *(st.binary(max_size=8) for _ in range(3)),
)
homes = st.builds(PrincipalHome, some_text, paths)

client_metrics = st.builds(
    ClientMetrics,
    st.builds(lambda path, name: f"{path}:{name}", paths, some_text) | some_text,
    st.dictionaries(texts, texts, min_size=1, max_size=3),
)

volumes = st.builds(Volume, st.integers(min_value=1, max_value=16_383))

kept = namespaces | entries | links | acls | credentials | homes | client_metrics
entities = kept | gateways | formats | seeds | volumes
changes: st.SearchStrategy[Change] = entities | entities.map(lambda one: Removal(key_of(one)))
early = entities.filter(lambda one: not isinstance(one, (Link, Volume, ClientMetrics)))
early_changes: st.SearchStrategy[Change] = early | early.map(lambda one: Removal(key_of(one)))
"""Changes that a catalog of any format can hold."""
