"""gateway.commands.catalog.diff: the changes that an import would make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    pattern_of,
)
from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    ClientMetrics,
    Entity,
    Link,
    Namespace,
    PrincipalHome,
    Removal,
    ResourceAcls,
    ScramCredential,
    Seeds,
    TopicEntry,
    key_of,
)
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog.diff import differences, problems, stale
from gateway.commands.catalog.file import (
    Imported,
    export_text,
    main_kinds,
    read_export,
    secret_kinds,
)
from gateway.config.errors import ConfigError
from gateway.names import LogicalName
from tests.commands.catalog_samples import catalogs

READ = AclEntry("User:a", "*", Operation.READ, Permission.ALLOW)
ACLS = ResourceAcls(pattern_of("TOPIC:LITERAL:org:"), frozenset({READ}))
HOME = PrincipalHome("User:a", "org")
SCRAM = ScramCredential("a", "SCRAM-SHA-256", 4096, b"s" * 12, b"k" * 32, b"v" * 32)
NEW_ID = bytes(range(16, 32))
NOW = 1_800_000_000_000
ORDERS = TopicEntry("org..orders", LogicalName("org", "sales"), bytes([5] * 16))


def diff(before: Snapshot, *wanted: Entity, prune: bool = False) -> list[object]:
    """The changes that would be committed."""
    found = differences(before, wanted, prune=prune, now=77, new_id=lambda: NEW_ID)
    return [one.change for one in found]


@given(catalogs(), catalogs())
def test_pruned_it_leads_from_any_catalog_to_any_other(old: Snapshot, new: Snapshot) -> None:
    kinds = [*main_kinds().values(), *secret_kinds().values()]
    found = differences(old, new.entities(), prune=True, now=1, kinds=kinds)
    result = old.apply([one.change for one in found], 2)
    again = differences(result, new.entities(), prune=True, now=1, kinds=kinds)
    # A topic that got another name got a new id, which the file does not have.
    assert all(isinstance(one.after, TopicEntry | Link) for one in again)
    assert result.links.keys() == new.links.keys()
    assert result.namespaces.keys() == new.namespaces.keys()
    assert result.topics.keys() == new.topics.keys()
    for path, namespace in result.namespaces.items():
        assert namespace.configs == new.namespaces[path].configs
    assert (result.acls, result.scram, result.homes) == (new.acls, new.scram, new.homes)


def test_a_changed_namespace_is_applied_to_its_topics() -> None:
    before = Snapshot().apply([Namespace("org", {"a": "1", "b": "2"}, None, ("z",), 5)], 1)
    after = Namespace("org", {"b": "3", "c": "4"})
    assert diff(before, after) == [replace(after, apply=("a", "b", "c", "z"), apply_since=77)]


def test_a_topic_with_another_name_gets_another_id() -> None:
    before = Snapshot().apply([Namespace("org"), ORDERS], 1)
    renamed = replace(ORDERS, name=LogicalName("org", "invoices"))
    assert diff(before, renamed) == [replace(renamed, topic_id=NEW_ID, apply=True, since=77)]
    other_id = replace(renamed, topic_id=bytes([9] * 16))
    assert diff(before, other_id) == [replace(other_id, apply=True, since=77)]


def test_notes_of_work_under_way_make_no_difference() -> None:
    before = Snapshot().apply(
        [
            Namespace("org", {"a": "1"}, None, ("a",), 3),
            replace(ORDERS, apply=True, since=5),
        ],
        1,
    )
    assert diff(before, Namespace("org", {"a": "1"}), ORDERS) == []


def test_seeds_are_added_to_and_replaced_only_by_prune() -> None:
    before = Snapshot().apply([Seeds(frozenset("ab"))], 1)
    assert diff(before, Seeds(frozenset("bc"))) == [Seeds(frozenset("abc"))]
    assert diff(before, Seeds(frozenset("bc")), prune=True) == [Seeds(frozenset("bc"))]
    assert diff(before, Seeds(frozenset("a"))) == []


def test_the_order_can_be_applied() -> None:
    found = differences(
        Snapshot.of(["x:y"]).apply([TopicEntry("t", LogicalName("x", "t"))], 2),
        [ORDERS, Namespace("org:a"), Namespace("org")],
        prune=True,
        now=1,
    )
    keys = [one.key[1] for one in found]
    assert keys == ["org", "org:a", "org..orders", "t", "x:y", "x"]


def test_nothing_is_there_without_its_acls() -> None:
    everything: list[Entity] = [SCRAM, HOME, ORDERS, Namespace("org"), ACLS]
    kinds = [*main_kinds().values(), *secret_kinds().values()]
    made = differences(Snapshot(), everything, prune=True, now=1, kinds=kinds)
    order = ["acl", "namespace", "home", "topic", "scram"]
    assert [one.key[0] for one in made] == order
    there = Snapshot().apply([one.change for one in made], 1)
    gone = differences(there, [], prune=True, now=1, kinds=kinds)
    assert [one.key[0] for one in gone] == ["scram", "topic", "namespace", "home", "acl"]
    assert there.apply([one.change for one in gone], 0) == Snapshot()


def test_secrets_are_pruned_only_by_a_file_of_secrets() -> None:
    there = Snapshot().apply([SCRAM], 1)
    assert differences(there, [], prune=True, now=1) == []
    (found,) = differences(there, [], prune=True, now=1, kinds=secret_kinds().values())
    assert found.change == Removal(key_of(SCRAM))


def told(before: Snapshot, *wanted: Entity, prune: bool = False, level: int = 1) -> list[str]:
    imported = Imported(Path("catalog.yaml"), level, list(wanted))
    found = differences(before, wanted, prune=prune, now=1)
    return [problem.text for problem in problems(before, imported, found, NOW)]


@pytest.mark.parametrize(
    ("before", "wanted", "text"),
    [
        (Snapshot(), [Namespace("a:b:c"), Namespace("a")], "has no namespace 'a:b' above it"),
        (Snapshot(), [HOME], "namespace 'org' does not exist; add it"),
        (Snapshot(), [ORDERS], "namespace 'org' of 'org:sales' does not exist; add it"),
        (
            Snapshot.of(["org"], topics=[replace(ORDERS, flat="other", topic_id=NEW_ID)]),
            [ORDERS],
            "'org:sales' is the name of the topic stored as",
        ),
        (
            Snapshot().apply([Namespace("org", deleting=5)], 1),
            [Namespace("org")],
            "namespace 'org' is being deleted; wait until it is gone",
        ),
        (
            Snapshot(),
            [Namespace("org", settings={"gateway.num.partitions": "many"})],
            "has settings that make no sense: 'gateway.num.partitions' is a number",
        ),
    ],
)
def test_what_cannot_be(before: Snapshot, wanted: list[Entity], text: str) -> None:
    (problem,) = told(before, *wanted)
    assert problem.startswith(text)


def test_a_namespace_is_not_pruned_from_under_what_is_in_it() -> None:
    alias = Alias(LogicalName("org", "old"), 5)
    before = Snapshot.of(["org", "team-a"], topics=[ORDERS])
    (problem,) = told(before, Namespace("team-a"), ORDERS, prune=True)
    assert problem.startswith("namespace 'org' would be removed, but 'org:sales' is in it")
    moved = replace(ORDERS, name=LogicalName("team-a", "sales"), aliases=(alias,))
    assert told(before, Namespace("team-a"), moved, prune=True) == []


def test_a_newer_catalog_is_not_imported() -> None:
    (problem,) = told(Snapshot(), Namespace("a"), level=3)
    assert problem == (
        "is 3, and this catalog has 1; raise it first: kafka-gateway catalog upgrade --format 3"
    )


def test_what_is_stale() -> None:
    found = differences(Snapshot(), [Namespace("a"), Namespace("b")], prune=False, now=1)
    assert stale(Snapshot(), found) == []
    assert stale(Snapshot.of(["b", "c"]), found) == [("namespace", "b")]
    found = differences(Snapshot(), [SCRAM], prune=False, now=1, kinds=secret_kinds().values())
    assert stale(Snapshot().apply([SCRAM], 1), found) == [key_of(SCRAM)]


LINK = Link(LogicalName("team-b", "orders"), ORDERS.flat, bytes([7] * 16))


def _problems(tmp_path: Path, before: Snapshot, *after: Entity) -> list[str]:
    wanted = Snapshot().apply([Namespace("org"), Namespace("team-b"), *after], 1)
    path = tmp_path / "catalog.yaml"
    path.write_text(export_text(wanted))
    imported = read_export(path)
    found = differences(before, imported.entities, prune=True, now=1)
    return [one.text for one in problems(before, imported, found, NOW)]


def test_a_link_needs_its_format_its_namespace_and_its_topic(tmp_path: Path) -> None:
    newer = Snapshot().apply([CatalogFormat(3)], 1)
    assert _problems(tmp_path, newer, ORDERS, LINK) == []
    (text,) = _problems(tmp_path, Snapshot(), ORDERS, LINK)
    assert text.startswith("links need catalog format 3, and this catalog has 1; raise it first")
    (text,) = _problems(tmp_path, newer, LINK)
    assert (
        text == f"'team-b:orders' leads to '{ORDERS.flat}', which is not among the topics; add it"
    )
    assert _problems(tmp_path, newer, replace(LINK, gone="org:orders")) == []
    assert _problems(tmp_path, newer, ORDERS, replace(LINK, name=ORDERS.name)) == [
        "'org:sales' is a link; choose another",
        "'org:sales' is the name of the topic stored as 'org..orders'; choose another",
    ]
    held = newer.apply([Namespace("org"), Namespace("team-b"), ORDERS, LINK], 2)
    (text,) = _problems(tmp_path, held, LINK)
    assert (
        text
        == f"'{ORDERS.flat}' would be removed, but 'team-b:orders' links to it; remove that too"
    )


METRICS = ClientMetrics("org:lag", {"metrics": "*", "interval.ms": "1000"})


def test_client_metrics_need_their_format_and_their_namespace(tmp_path: Path) -> None:
    newer = Snapshot().apply([CatalogFormat(6)], 1)
    assert _problems(tmp_path, newer, METRICS) == []
    assert _problems(tmp_path, newer, ClientMetrics("lag", {"metrics": "*"})) == []
    (text,) = _problems(tmp_path, Snapshot(), METRICS)
    assert text.startswith("client metrics need catalog format 6, and this catalog has 1; raise")
    (text,) = _problems(tmp_path, newer, replace(METRICS, name="org:a:lag"))
    assert text == "namespace 'org:a' of 'org:a:lag' does not exist; add it"


def test_client_metrics_in_a_file(tmp_path: Path) -> None:
    before = Snapshot().apply([CatalogFormat(6), Namespace("org"), METRICS], 1)
    text = export_text(before)
    assert text.endswith("client_metrics:\n  org:lag:\n    interval.ms: '1000'\n    metrics: '*'\n")
    path = tmp_path / "catalog.yaml"
    path.write_text(text)
    assert read_export(path).entities == [Namespace("org"), METRICS]


def test_client_metrics_have_the_limits_of_clients(tmp_path: Path) -> None:
    newer = Snapshot().apply([CatalogFormat(6)], 1)
    many = [ClientMetrics(f"org:m{number}", {"metrics": "*"}) for number in range(101)]
    assert _problems(tmp_path, newer, *many[:100]) == []
    texts = _problems(tmp_path, newer, *many)
    assert set(texts) == {
        "namespace 'org' with all below it would hold 101 client metrics, and 100 are the most"
    }


def test_client_metrics_of_a_removed_namespace_go_with_it_or_keep_it() -> None:
    held = Snapshot().apply([CatalogFormat(6), Namespace("org"), METRICS], 1)
    assert told(held, prune=True, level=6) == []
    (text,) = told(held, METRICS, prune=True, level=6)
    assert "namespace 'org' would be removed, but client metrics 'org:lag' are in it" in text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{org:lag: {other: x}}", "Unknown client metrics configuration: other; correct it"),
        ("{org:lag: {interval.ms: '99'}}", "Invalid value 99 for interval.ms"),
        ("{org:lag: {}}", "a subscription without configs is none; correct it"),
        ("{'org:': {metrics: a}}", "Subscription name can't be empty; correct it"),
        ("{':a': {metrics: a}}", "':a' has an empty namespace; correct it"),
        ("{'o rg:a': {metrics: a}}", "tier 'o rg' of namespace"),
        ("{org:lag: {metrics: [a]}}", ""),
    ],
)
def test_client_metrics_that_no_client_could_make(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "catalog.yaml"
    head = "format: 1\ncatalog_format: 6\nnamespaces: {org: {}}\ntopics: []\n"
    path.write_text(f"{head}client_metrics: {text}\n")
    with pytest.raises(ConfigError) as raised:
        read_export(path)
    assert problem in str(raised.value)


LONG = "n" * 40_000
READ = AclEntry("User:a", "*", Operation.READ, Permission.ALLOW)


def acls(name: str, entry: AclEntry = READ) -> ResourceAcls:
    pattern = ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, name)
    return ResourceAcls(pattern, frozenset({entry}))


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        (acls(LONG), "the name of an ACL is longer"),
        (acls("n", replace(READ, host=LONG)), "is no ACL: A principal or host is longer"),
        (Namespace("org", {"retention.ms": LONG}), "config 'retention.ms' is longer"),
        (replace(ORDERS, topic_id=bytes(16)), "has the topic id of zeros"),
        (replace(ORDERS, name=LogicalName("org", "__consumer_offsets")), "'org:__consumer_off"),
        (PrincipalHome("", "org"), "'' is no principal"),
        (PrincipalHome("alice", "org"), "'alice' is no principal"),
    ],
)
def test_what_no_request_could_have_made(entity: Entity, text: str) -> None:
    (problem,) = told(Snapshot.of(["org"]), Namespace("org"), entity)
    assert problem.startswith(text)


def test_one_topic_id_or_alias_of_two_topics() -> None:
    before = Snapshot.of(["org"])
    other = replace(ORDERS, flat="x", name=LogicalName("org", "x"))
    problems = told(before, Namespace("org"), ORDERS, other)
    assert [text.partition(";")[0] for text in problems] == [
        "has a topic id that another name has too"
    ] * 2
    alias = Alias(LogicalName("org", "old"), 9)
    both = (replace(one, aliases=(alias,)) for one in (ORDERS, replace(other, topic_id=NEW_ID)))
    problems = told(before, Namespace("org"), *both)
    assert [text.partition(";")[0] for text in problems] == [
        f"alias 'org:old' is an alias of the topic stored as '{flat}'"
        for flat in ("x", ORDERS.flat)
    ]
