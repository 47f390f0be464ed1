"""docs/access.md: the rights for changes of names, row by row, by the handlers of the requests."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from gateway.acl_model import AclBinding
from gateway.catalog.entities import CatalogFormat, TopicEntry
from gateway.names import LogicalName
from gateway.views.access import Access
from protocol.schema import ERROR_NAMES
from tests.acls.bindings import by_pattern
from tests.changes.acl_requests import access
from tests.changes.admin_requests import codes, create, delete
from tests.changes.config_requests import RELEASING, alter, deleting, moving, setting
from tests.changes.fakes import FakeGateway, World
from tests.changes.topics.test_create_partitions import grow
from tests.docs import access_table, markdown

DENIALS = {29, 31}
STORED = {"org..orders", "org..abc", "org.apache..orders", "orders", "stored", "old..x"}


@dataclass(frozen=True)
class Row:
    """A row: a change, the ACLs that exist, and the result."""

    change: str
    acls: tuple[AclBinding, ...]
    answer: str


def rows() -> list[Row]:
    page = markdown.read(access_table.PAGE)
    return [
        Row(markdown.code(change), tuple(map(access_table.binding, markdown.spans(acls))), answer)
        for change, acls, answer in markdown.table(page, "change")
    ]


ROWS = rows()


async def gateway_with(acls: tuple[AclBinding, ...]) -> FakeGateway:
    world = World(list(access_table.NAMESPACES))
    world.broker.make(*STORED)
    world.log.append([CatalogFormat(3), TopicEntry("stored", LogicalName("org", "adopted"))])
    gateway = world.gateway()
    link = [("gateway.link", 2, "other:link")]
    assert await alter(gateway, "org:abc", link) == (0, None)
    world.log.append(by_pattern(acls))
    return gateway


def _namespace(name: str) -> tuple[str, str]:
    namespace, _, topic = name.rpartition(":")
    return namespace or "", topic


async def _configured(gateway: FakeGateway, asking: Access, name: str) -> int:
    return (await alter(gateway, name, setting(retention_ms="1"), access=asking))[0]


async def _moved(gateway: FakeGateway, asking: Access, name: str, to: str) -> int:
    return (await alter(gateway, name, moving(*_namespace(to)), access=asking))[0]


async def _linked(gateway: FakeGateway, asking: Access, name: str, link: str) -> int:
    return (await alter(gateway, name, [("gateway.link", 2, link)], access=asking))[0]


async def _unlinked(gateway: FakeGateway, asking: Access, name: str) -> int:
    return (await alter(gateway, name, deleting("gateway.link.to"), access=asking))[0]


async def _released(gateway: FakeGateway, asking: Access, name: str) -> int:
    return (await alter(gateway, name, RELEASING, access=asking))[0]


async def _created(gateway: FakeGateway, asking: Access, name: str) -> int:
    return codes(await create(gateway, name, access=asking))[0]


async def _adopted(gateway: FakeGateway, asking: Access, name: str) -> int:
    configs: dict[str, str | None] = {"gateway.adopt": "true"}
    return codes(await create(gateway, name, configs=configs, access=asking))[0]


async def _deleted(gateway: FakeGateway, asking: Access, name: str) -> int:
    return codes(await delete(gateway, name, access=asking))[0]


async def _grown(gateway: FakeGateway, asking: Access, name: str) -> int:
    ((_, code, _),) = await grow(gateway, (name, 5), access=asking)
    return code


CHANGES: dict[str, Callable[..., Awaitable[int]]] = {
    r"creates (\S+)": _created,
    r"adopts (\S+)": _adopted,
    r"deletes (\S+)": _deleted,
    r"grows (\S+)": _grown,
    r"configures (\S+)": _configured,
    r"moves (\S+) to (\S+)": _moved,
    r"releases (\S+)": _released,
    r"links (\S+) as (\S+)": _linked,
    r"unlinks (\S+)": _unlinked,
}


async def code_of(row: Row, acls: tuple[AclBinding, ...]) -> int:
    """The error code that alice gets."""
    gateway = await gateway_with(acls)
    asking = access(gateway, "User:alice")
    for pattern, change in CHANGES.items():
        match = re.fullmatch(pattern, row.change)
        if match is not None:
            return await change(gateway, asking, *match.groups())
    raise AssertionError(f"{row.change!r} is no change")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.change)
async def test_row(row: Row) -> None:
    code = await code_of(row, row.acls)
    if row.answer != access_table.ALLOWED:
        assert ERROR_NAMES[code] == row.answer
        return
    assert code == 0
    for left_out in row.acls:
        fewer = tuple(one for one in row.acls if one != left_out)
        assert await code_of(row, fewer) in DENIALS, left_out


def test_every_change_is_in_the_table() -> None:
    for pattern in CHANGES:
        assert any(re.fullmatch(pattern, row.change) for row in ROWS)
