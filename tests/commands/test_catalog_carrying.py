"""gateway.commands.catalog.carrying: names below a namespace, and how ACLs apply there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    name_of,
    namespace_of,
    pattern_of,
    resource,
)
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import (
    Entity,
    Namespace,
    PrincipalHome,
    ResourceAcls,
    Seeds,
    TopicEntry,
    key_of,
)
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog.carrying import (
    carried,
    check_under,
    is_inside,
    pattern_under,
    selected,
    too_long,
)
from gateway.commands.catalog.diff import differences
from gateway.commands.catalog.file import Imported, export_text, namespaces_text, read_export
from gateway.commands.errors import UsageError
from gateway.names import LogicalName, parents
from gateway.rules.acl_names import pattern_named
from tests.commands.catalog_samples import catalogs, sample
from tests.rules.test_acl_names import view

UNDER = "dr:a"
HOST = "192.0.2.1"
ALICE = "User:alice"


def acls(pattern: str, operation: Operation = Operation.READ, who: str = ALICE) -> ResourceAcls:
    entry = AclEntry(who, "*", operation, Permission.ALLOW)
    return ResourceAcls(pattern_of(pattern), frozenset({entry}))


def imported(*entities: Entity) -> Imported:
    found = Imported(Path("f.yaml"), 3, [*entities])
    found.places = {key_of(one): (("x", n), n + 10) for n, one in enumerate(entities)}
    return found


def under(*entities: Entity, below: str = UNDER) -> list[Entity]:
    return carried(imported(*entities), below, {"dr": Namespace("dr"), UNDER: Namespace(UNDER)})[
        0
    ].entities


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("TOPIC:LITERAL:orders", "TOPIC:LITERAL:dr:a:orders"),
        ("TOPIC:LITERAL:org:orders", "TOPIC:LITERAL:dr:a:org:orders"),
        ("TOPIC:LITERAL:org:", "TOPIC:LITERAL:dr:a:org:"),
        ("TOPIC:PREFIXED:or", "TOPIC:PREFIXED:dr:a:or"),
        ("TOPIC:PREFIXED:org:", "TOPIC:PREFIXED:dr:a:org:"),
        ("TOPIC:PREFIXED:org:a", "TOPIC:PREFIXED:dr:a:org:a"),
        ("TOPIC:LITERAL:*", "TOPIC:PREFIXED:dr:a:"),
        ("GROUP:LITERAL:*", "GROUP:PREFIXED:dr:a:"),
        ("GROUP:PREFIXED:*", "GROUP:PREFIXED:dr:a:*"),
        ("TRANSACTIONAL_ID:LITERAL:tx", "TRANSACTIONAL_ID:LITERAL:dr:a:tx"),
    ],
)
def test_patterns(source: str, target: str) -> None:
    """The rows of docs/cli.md."""
    assert str(pattern_under(UNDER, pattern_of(source))) == target
    assert pattern_under("", pattern_of(source)) == pattern_of(source)


# -- rights of clients -----------------------------------------------------------------------------

PATHS = ["org", "org:apache", "o", "org:o", "apache"]
NAMES = ["", "orders", "o", "org", "app", "ord"]
TYPES = [ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID]
WHO = [ALICE, "User:bob", "User:*"]
OPERATIONS = [one for one in Operation if one > Operation.ANY]
TEXTS = st.builds(
    lambda path, name: f"{path}:{name}" if path else name,
    st.sampled_from(["", *PATHS]),
    st.sampled_from(NAMES),
).filter(bool)
PATTERNS = st.builds(
    ResourcePattern,
    st.sampled_from(TYPES),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    TEXTS | st.just("*"),
)
ENTRIES = st.builds(
    AclEntry,
    st.sampled_from(WHO),
    st.sampled_from(["*", HOST, "192.0.2.7"]),
    st.sampled_from(OPERATIONS),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
)
ACLS = st.lists(
    st.builds(ResourceAcls, PATTERNS, st.frozensets(ENTRIES, min_size=1, max_size=3)),
    max_size=5,
    unique_by=lambda one: one.pattern,
)


def authorizer(entities: list[Entity]) -> StandardAuthorizer:
    made = StandardAuthorizer()
    made.see(Snapshot().apply(entities, 1))
    return made


def is_every_topic(one: Entity) -> bool:
    return isinstance(one, ResourceAcls) and one.pattern == pattern_of("TOPIC:LITERAL:*")


@given(ACLS, st.sampled_from(TYPES), TEXTS, st.sampled_from(OPERATIONS))
@example([acls("TOPIC:LITERAL:*")], ResourceType.GROUP, "app", Operation.READ)
@example([acls("TOPIC:LITERAL:org:")], ResourceType.GROUP, "org:app", Operation.READ)
@example([acls("TOPIC:LITERAL:*")], ResourceType.TOPIC, "org:orders", Operation.READ)
@example([acls("TOPIC:LITERAL:*", Operation.ALTER)], ResourceType.TOPIC, "o", Operation.CREATE)
@example([acls("TOPIC:LITERAL:*", Operation.ALTER)], ResourceType.TOPIC, "org:", Operation.CREATE)
def test_what_is_allowed_at_the_source_is_allowed_below(
    found: list[ResourceAcls], kind: ResourceType, text: str, operation: Operation
) -> None:
    """Only ACLs on every topic reach further, to CREATE by ALTER: see docs/cli.md."""
    entities: list[Entity] = [Namespace(path) for path in PATHS]
    entities += found
    source, target = authorizer(entities), authorizer(under(*entities))
    there, here = (
        where.authorize(ALICE, HOST, operation, resource(kind, name)).allowed
        for where, name in ((source, text), (target, f"{UNDER}:{text}"))
    )
    delegated = operation is Operation.CREATE and not name_of(kind, text).head
    if there or not delegated or not any(map(is_every_topic, found)):
        assert there == here


@given(ACLS, PATTERNS)
@example([acls("GROUP:LITERAL:app", Operation.ALTER)], pattern_of("GROUP:LITERAL:app"))
def test_what_is_delegated_at_the_source_is_delegated_below(
    found: list[ResourceAcls], pattern: ResourcePattern
) -> None:
    """Only ALTER on every topic delegates more, everything that is in ``dr:a``: see docs/cli.md."""
    entities: list[Entity] = [*map(Namespace, PATHS), *found]
    there = authorizer(entities).may_manage(ALICE, HOST, pattern)
    below = authorizer(under(*entities))
    here = below.may_manage(ALICE, HOST, pattern_under(UNDER, pattern))
    if there or namespace_of(pattern) is not None or not any(map(is_every_topic, found)):
        assert there == here


def test_what_is_allowed_on_every_topic_is_allowed_on_the_namespace_itself() -> None:
    """By docs/access.md: Alter delegates; groups have ACLs of their own."""
    below = authorizer(under(acls("TOPIC:LITERAL:*", Operation.ALTER)))
    itself = resource(ResourceType.TOPIC, f"{UNDER}:")
    app = pattern_of(f"GROUP:LITERAL:{UNDER}:app")
    assert below.authorize(ALICE, HOST, Operation.ALTER, itself).allowed
    assert below.may_manage(ALICE, HOST, app)
    for operation in OPERATIONS:
        allowed = below.authorize(ALICE, HOST, operation, resource(app.type, app.name)).allowed
        assert not allowed


@given(PATTERNS.filter(lambda one: one.name != "*" or one.pattern_type is PatternType.LITERAL))
def test_patterns_are_those_of_a_home(pattern: ResourcePattern) -> None:
    """The ACL that a client with the home writes is written at the source."""
    named = pattern_named(view(UNDER), pattern.type, pattern.pattern_type, pattern.name)
    assert named == pattern_under(UNDER, pattern)


@given(st.lists(PATTERNS, unique=True))
def test_no_two_patterns_become_one(patterns: list[ResourcePattern]) -> None:
    assert len({pattern_under(UNDER, one) for one in patterns}) == len(patterns)


@given(ACLS, st.sampled_from(PATHS), st.sampled_from(TYPES), st.sampled_from(NAMES))
def test_below_one_namespace_the_same_is_allowed(
    found: list[ResourceAcls], below: str, kind: ResourceType, name: str
) -> None:
    entities: list[Entity] = [*map(Namespace, PATHS), *found]
    source, chosen = authorizer(entities), authorizer(selected(entities, below)[0])
    for path in (path for path in PATHS if below in parents(path)):
        for operation in OPERATIONS:
            one = resource(kind, f"{path}:{name}")
            there = source.authorize(ALICE, HOST, operation, one).allowed
            assert chosen.authorize(ALICE, HOST, operation, one).allowed == there


# -- carried entities ------------------------------------------------------------------------------


@given(catalogs())
def test_a_second_import_changes_nothing(snapshot: Snapshot) -> None:
    file = imported(*snapshot.entities())
    wanted = carried(file, UNDER, {})[0].entities
    first = differences(Snapshot(), wanted, prune=False, now=1)
    result = Snapshot().apply([one.change for one in first], 9)
    again = carried(file, UNDER, result.namespaces)[0].entities
    assert differences(result, again, prune=False, now=2) == []
    inside = differences(result, again, prune=True, now=2, within=lambda e: is_inside(e, UNDER))
    assert inside == []


@given(catalogs(), st.sampled_from(["", UNDER]))
def test_what_is_exported_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, snapshot: Snapshot, below: str
) -> None:
    kept, _ = selected(snapshot.entities())
    path = tmp_path_factory.mktemp("f") / "f.yaml"
    path.write_text(namespaces_text(kept, {}))
    alone = carried(read_export(path), below, {})[0].entities
    path.write_text(export_text(snapshot))
    whole = carried(read_export(path), below, {})[0].entities
    assert {key_of(one): one for one in alone} == {key_of(one): one for one in whole}
    assert {type(one) for one in alone} <= {Namespace, ResourceAcls}


def test_what_is_left_out_is_named() -> None:
    entities: list[Entity] = [*sample().entities(), acls("CLUSTER:LITERAL:kafka-cluster")]
    entities += [acls("TOPIC:LITERAL:org:apache:"), acls("DELEGATION_TOKEN:LITERAL:t")]
    kept, left_out = selected(entities)
    assert [one.path for one in kept if isinstance(one, Namespace)] == ["org", "team-a"]
    assert left_out.lines == [
        "Left out: namespaces that are being deleted: org:apache.",
        "Left out: ACLs on CLUSTER:LITERAL:kafka-cluster, DELEGATION_TOKEN:LITERAL:t, "
        "TOPIC:LITERAL:org:apache:.",
        "Left out: entries of other kinds: 1 of homes, 1 of scram, 2 of topics.",
    ]
    work = [one for one in kept if isinstance(one, Namespace) and (one.apply or one.apply_since)]
    assert not work, "work under way is the source's"


def test_what_is_below_a_namespace_that_is_deleted_is_left_out() -> None:
    gone = [Namespace("a", deleting=5), Namespace("a:b"), acls("GROUP:PREFIXED:a:b:x")]
    kept, left_out = selected([*gone, Namespace("ab")])
    assert kept == [Namespace("ab")]
    assert (left_out.deleting, left_out.acls) == (["a", "a:b"], ["GROUP:PREFIXED:a:b:x"])


def test_below_a_namespace() -> None:
    reaching = ["TOPIC:LITERAL:org:", "TOPIC:PREFIXED:org:", "GROUP:LITERAL:*"]
    reaching += ["TOPIC:LITERAL:org:apache:", "GROUP:PREFIXED:org:apache:x"]
    others = ["TOPIC:LITERAL:org:x", "TOPIC:PREFIXED:org:a", "TOPIC:PREFIXED:or", "GROUP:LITERAL:g"]
    paths = ["org", "org:apache", "org:apache:kafka", "org:apaches", "other"]
    found = [*map(Namespace, paths), *map(acls, reaching + others), Seeds(frozenset("o"))]
    kept, left_out = selected(found, "org:apache")
    assert [one.path for one in kept if isinstance(one, Namespace)] == paths[:3]
    assert [str(one.pattern) for one in kept if isinstance(one, ResourceAcls)] == reaching
    assert left_out.lines == []


def test_namespaces_above_are_made_where_they_are_missing() -> None:
    made, _ = carried(imported(Namespace("org")), "dr:a", {"dr": Namespace("dr", {"k": "v"})})
    assert made.entities == [Namespace("dr:a:org"), Namespace("dr:a")]
    assert made.problem(("namespace", "dr:a:org"), "t").line == 10
    assert made.problem(("namespace", "dr:a"), "t") == (("--under dr:a",), "t", 0)
    assert made.catalog_format == 1, "topics and links of the source need more, and stay there"


def test_what_prune_may_remove() -> None:
    inside: list[Entity] = [
        Namespace("dr:a:x"),
        acls("TOPIC:PREFIXED:dr:a:"),
        acls("GROUP:LITERAL:dr:a:g"),
    ]
    outside: list[Entity] = [
        Namespace("dr"),
        Namespace("dr:a"),
        Namespace("dr:ab"),
        acls("TOPIC:LITERAL:dr:a:"),
    ]
    outside += [acls("TOPIC:PREFIXED:dr:"), acls("TOPIC:LITERAL:*"), acls("USER:LITERAL:dr:a:x")]
    outside += [TopicEntry("x", LogicalName("dr:a", "x")), PrincipalHome(ALICE, "dr:a")]
    assert [one for one in inside + outside if is_inside(one, UNDER)] == inside
    org = [Namespace("dr:a:org"), Namespace("dr:a:org:x"), acls("TOPIC:LITERAL:dr:a:org:")]
    assert [one for one in inside + outside + org if is_inside(one, UNDER, "org")] == org
    everything = [one for one in inside + outside if is_inside(one, "")]
    assert everything == inside + [
        one
        for one in outside
        if isinstance(one, Namespace | ResourceAcls) and "USER" not in str(key_of(one))
    ]


def test_names_that_are_too_long() -> None:
    """Kafka's topics have at most 249 characters: dr.a.N..t has 8 more than N."""
    fits, long = "n" * 241, "n" * 242
    found: list[Entity] = [Namespace(fits), Namespace(long), acls(f"TOPIC:LITERAL:{'t' * 243}")]
    found += [acls(f"TOPIC:LITERAL:{'t' * 244}"), acls(f"TOPIC:PREFIXED:{long}:")]
    reasons = too_long(carried(imported(*found), UNDER, {})[0])
    assert [(reason.key, reason.line) for reason in reasons] == [
        (("x", 1), 11),
        (("x", 3), 13),
        (("x", 4), 14),
    ]
    assert "leaves none of Kafka's 249 characters for a topic; shorten it, or choose a shorter" in (
        reasons[0].text
    )
    assert reasons[1].text.endswith(
        "would be stored as 250 characters, and 249 is the most; leave the ACL out, or choose a "
        "shorter --under"
    )


@pytest.mark.parametrize("wrong", ["", "dr:", ":dr", "a_b", "x" * 249])
def test_no_namespace_to_carry_to(wrong: str) -> None:
    with pytest.raises(UsageError, match="--under: "):
        check_under(wrong)
