"""Catalogs for tests: a small catalog made by hand, and arbitrary ones."""

from __future__ import annotations

from hypothesis import strategies as st

from gateway.acl_model import AclEntry, Operation, Permission, pattern_of
from gateway.catalog.entities import (
    Alias,
    ClientMetrics,
    Entity,
    Gateway,
    Link,
    Namespace,
    PrincipalHome,
    ResourceAcls,
    ScramCredential,
    Seeds,
    TopicEntry,
)
from gateway.catalog.schema.scram_bounds import MAX_ITERATIONS, MIN_ITERATIONS, MIN_SALT_BYTES
from gateway.catalog.snapshot import Snapshot
from gateway.names import LogicalName, parents

TIERS = st.text("abzAZ019.-", min_size=1, max_size=4) | st.sampled_from(
    ["1", "0x1F", "1.5", "no", "true", "null", "2026-12-01", "~-".replace("~", "a"), "-", "..."]
)
PATHS = st.lists(TIERS, min_size=1, max_size=3).map(":".join)
TOPICS = st.text("abAB09._-", min_size=1, max_size=6).filter(lambda text: text not in {".", ".."})
TIMES = st.integers(0, 10**15 - 1) | st.integers(0, 2**42)
IDS = st.none() | st.binary(min_size=16, max_size=16)
TEXT = st.text(max_size=12) | st.sampled_from(["60000", "compact,delete", "yes", "", " x: y #"])
KEYS = st.sampled_from(["retention.ms", "cleanup.policy", "no", "1", "a.b"])
NAMES = st.builds(LogicalName, st.just("") | PATHS, TOPICS)

LINKED = st.none() | NAMES

NAMESPACES = st.builds(
    Namespace,
    PATHS,
    st.dictionaries(KEYS, TEXT, max_size=3),
    st.none() | TIMES,
    st.lists(KEYS, max_size=2).map(tuple),
    TIMES,
)
ENTRIES = st.builds(
    TopicEntry,
    TOPICS,
    NAMES,
    IDS,
    st.lists(st.builds(Alias, NAMES, TIMES, IDS), max_size=2).map(tuple),
    st.lists(KEYS, max_size=2).map(tuple),
    st.booleans(),
    st.booleans(),
    TIMES,
)
ACL_ENTRIES = st.builds(
    AclEntry,
    TEXT.map(lambda name: f"User:{name}*"),
    st.sampled_from(["*", "10.0.0.1", "::1"]),
    st.sampled_from([operation for operation in Operation if operation > Operation.ANY]),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
)
ACLS = st.builds(
    ResourceAcls,
    st.builds(
        lambda kind, name: pattern_of(f"{kind}:{name}"),
        st.sampled_from(["TOPIC:LITERAL", "TOPIC:PREFIXED", "GROUP:LITERAL", "USER:LITERAL"]),
        TEXT.filter(bool) | PATHS | st.sampled_from(["*", "org:"]),
    ),
    st.frozensets(ACL_ENTRIES, min_size=1, max_size=3),
)
CREDENTIALS = st.builds(
    lambda user, mechanism, iterations, salt, keys: ScramCredential(
        user, mechanism[0], iterations, salt, *(key[: mechanism[1]] for key in keys)
    ),
    TEXT.filter(bool),
    st.sampled_from([("SCRAM-SHA-256", 32), ("SCRAM-SHA-512", 64)]),
    st.integers(MIN_ITERATIONS, MAX_ITERATIONS),
    st.binary(min_size=MIN_SALT_BYTES, max_size=20),
    st.tuples(*(st.binary(min_size=64, max_size=64) for _ in range(2))),
)
METRICS = st.dictionaries(
    TEXT.filter(lambda text: bool(text) and ":" not in text),
    st.fixed_dictionaries(
        {"interval.ms": st.integers(100, 3_600_000).map(str)},
        optional={"metrics": st.sampled_from(["*", "a., b.", ""]), "match": st.just("client_id=a")},
    ),
    max_size=2,
)
PRINCIPALS = st.sampled_from(["User:a", "User:*", "User:no", "Group:x: y"])
SEEDS = st.lists(PATHS, min_size=1, max_size=3).map(lambda paths: Seeds(frozenset(paths)))


@st.composite
def catalogs(draw: st.DrawFn) -> Snapshot:
    """A consistent catalog: every tier exists, and no two topics have the same name."""
    entries = draw(st.lists(ENTRIES, max_size=4, unique_by=(lambda e: e.flat, lambda e: e.name)))
    named = draw(st.lists(NAMESPACES, max_size=4))
    paths = [one.path for one in named] + [entry.name.namespace for entry in entries]
    entities: list[Entity] = [Namespace(tier) for path in paths for tier in parents(path)]
    entities += [*named, *entries, *draw(st.just([]) | SEEDS.map(lambda seeds: [seeds]))]
    entities += [*draw(st.lists(ACLS, max_size=3)), *draw(st.lists(CREDENTIALS, max_size=2))]
    homes = draw(
        st.dictionaries(PRINCIPALS, st.sampled_from([*filter(None, paths), "org"]), max_size=2)
    )
    entities += [PrincipalHome(*home) for home in homes.items()]
    held = {entry.name for entry in entries}
    linked = [(entry.flat, draw(LINKED)) for entry in entries]
    links = {name: flat for flat, name in linked if name is not None and name not in held}
    entities += [
        Link(name, flat, bytes([number]) * 16, draw(st.sampled_from(["", "org:gone"])))
        for number, (name, flat) in enumerate(links.items())
    ]
    within = draw(st.sampled_from(["", *paths]))
    for own, configs in draw(METRICS).items():
        entities.append(ClientMetrics(f"{within}:{own}" if within else own, configs))
    entities += [Namespace(tier) for name in links for tier in parents(name.namespace)]
    entities += [Namespace(tier) for path in homes.values() for tier in parents(path)]
    return Snapshot().apply(entities, 1)


def sample() -> Snapshot:
    """A namespace with configs, another below it, and one being deleted; a moved and an adopted
    topic; ACLs, a user and its home."""
    moved = TopicEntry(
        "org..orders",
        LogicalName("team-a", "orders"),
        topic_id=bytes(range(16)),
        aliases=(Alias(LogicalName("org", "orders"), 1_796_126_400_000),),
        own_configs=("retention.ms",),
        since=1_700_000_000_000,
    )
    return Snapshot().apply(
        [
            Namespace("org", {"retention.ms": "60000", "cleanup.policy": "compact,delete"}),
            Namespace("org:apache", deleting=1_700_000_000_500),
            Namespace("team-a", {"segment.ms": "1"}, None, ("segment.ms",), 1_700_000_000_000),
            moved,
            TopicEntry("team-a.events", LogicalName("team-a", "events")),
            Seeds(frozenset({"team-a", "org"})),
            Gateway("gateway-1", 1, "0.1.0"),
            ResourceAcls(
                pattern_of("TOPIC:PREFIXED:org:"),
                frozenset(
                    {
                        AclEntry("User:alice", "*", Operation.READ, Permission.ALLOW),
                        AclEntry("User:bob", "10.0.0.1", Operation.ALL, Permission.DENY),
                    }
                ),
            ),
            ScramCredential(
                "alice", "SCRAM-SHA-256", 4096, b"\x01" * 12, b"\x02" * 32, b"\x03" * 32
            ),
            PrincipalHome("User:alice", "team-a"),
        ],
        7,
    )
