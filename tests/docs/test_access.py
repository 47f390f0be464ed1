"""docs/access.md: its truth table against the authorizer, row by row.

``tests/live/access/test_access_table.py`` tests a gateway the same way with real clients.
"""

from __future__ import annotations

import pytest

from gateway.acl_model import Operation, PatternType, ResourceType
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import Alias, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_rights import AclRights
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.names import DELIMITER, LogicalName
from gateway.views.access import ALTER, CREATE, WRITE, Access
from gateway.views.authorized_access import CODES, AuthorizedAccess
from gateway.views.view import View, ViewSettings
from protocol.schema import ERROR_NAMES
from tests.acls.bindings import by_pattern
from tests.docs import access_table, markdown
from tests.docs.access_table import ALLOWED, AddsAcls, Does, InitProducerId, Moves, Row

ROWS = access_table.rows()


def access_of(row: Row) -> Access:
    """The operations that a row's ACLs allow its user."""
    authorizer = StandardAuthorizer()
    configs = {
        "super.users": (f"User:{access_table.SUPER_USER}",),
        "allow.everyone.if.no.acl.found": row.everyone,
    }
    authorizer.configure(configs, lambda: None)
    snapshot = Snapshot.of(access_table.NAMESPACES, topics=[_moved()]).apply(
        by_pattern(row.acls), 2
    )
    authorizer.see(snapshot)
    settings = ViewSettings("clients", home=access_table.HOMES.get(row.user, ""))
    view = View(settings, snapshot)
    return AuthorizedAccess(view, f"User:{row.user}", access_table.HOST, authorizer)


def _moved() -> TopicEntry:
    alias, name = map(_logical, access_table.MOVED)
    return TopicEntry("stored", name, aliases=(Alias(alias, 2**60),))


def _logical(text: str) -> LogicalName:
    namespace, _, topic = text.rpartition(DELIMITER)
    return LogicalName(namespace, topic)


def written(row: Row, name: str) -> str:
    """A logical name as a row's user writes it."""
    home = access_table.HOMES.get(row.user)
    return name if home is None else name.removeprefix(home + DELIMITER)


def denial(row: Row) -> Denied | None:
    """The reason why a row's user is denied, or None if it is allowed."""
    access = access_of(row)
    match row.action:
        case InitProducerId():
            if access.any_topic(WRITE) is None:
                return None
            return access.cluster(Operation.IDEMPOTENT_WRITE)
        case AddsAcls(pattern):
            return AclRights(access, Operation.ALTER).why_not(pattern, pattern.name)
        case Moves(topic, namespace):
            leaving = access.namespace(ALTER, _logical(topic).namespace)
            return leaving or access.namespace(ALTER, namespace)
        case Does(operation, pattern):
            assert pattern.pattern_type is PatternType.LITERAL
            name = written(row, pattern.name).encode()
            found = _denial(access, operation, pattern.type, name)
            return found if isinstance(found, Denied) else None


def _denial(access: Access, operation: Operation, kind: ResourceType, name: bytes) -> object:
    if kind is ResourceType.GROUP:
        return access.group(operation, name)
    if kind is ResourceType.TRANSACTIONAL_ID:
        return access.transactional_id(operation, name)
    assert kind is ResourceType.TOPIC
    if operation == CREATE:
        named = access.topic_resource(name)
        assert named is not None
        return access.creation(named)
    return access.topic(operation, name)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_row(row: Row) -> None:
    why = denial(row)
    told = ALLOWED if why is None else ERROR_NAMES[why.code]
    assert told == row.answer, why


def test_the_rows_are_numbered_and_differ() -> None:
    assert [row.number for row in ROWS] == list(range(1, len(ROWS) + 1))
    asked = [(row.acls, row.everyone, row.user, row.action) for row in ROWS]
    assert len(set(asked)) == len(ROWS) >= 30


def test_every_error_is_among_them() -> None:
    codes = {*CODES.values(), CLUSTER_AUTHORIZATION_FAILED}
    assert {row.answer for row in ROWS} == {ALLOWED, *(ERROR_NAMES[code] for code in codes)}


def test_the_world_is_told() -> None:
    """The world that the rows presuppose is described above them."""
    before, _, _ = markdown.read(access_table.PAGE).partition("| row |")
    spans = set(markdown.spans(before))
    assert {*access_table.NAMESPACES, *access_table.MOVED, access_table.HOMES["carol"]} <= spans
    done = [row.action for row in ROWS if isinstance(row.action, Does)]
    topics = {
        one.pattern.name
        for one in done
        if one.pattern.type is ResourceType.TOPIC and one.operation is not Operation.CREATE
    }
    assert topics <= {*access_table.TOPICS, *access_table.MOVED}
