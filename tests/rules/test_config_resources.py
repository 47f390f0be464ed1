"""Config resources: the gateway answers the rejected resources, the broker the others."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.apis.table import APIS
from gateway.decision import Denied
from gateway.exchanges.api import Api
from gateway.rules.item_lists import ConfigResource, merge_items, reject_all_items, split_items
from protocol import messages
from protocol.messages import element_class, has_field, make
from tests.rules.apis import api_named, items_of

TOPIC = 2
BROKER = 4
DENIED = Denied(29, "not yours", "access")
CASES = [
    pytest.param(api, version, id=f"{api.name}-{version}")
    for api in APIS.values()
    for shape in api.items
    if "resource_name" in shape.asked_by
    for version in api.versions_of(shape)
]


def ask(api: Api, version: int, resources: Sequence[ConfigResource], keys: Sequence[str]) -> bytes:
    """``keys`` has one config name for each resource."""
    cls = messages.message_class(f"{api.name}Request", version)
    item_class = element_class(cls, "resources")
    items = []
    for (resource_type, name), key in zip(resources, keys, strict=True):
        values: dict[str, object] = {"configuration_keys": (key,)}
        if has_field(item_class, "configs"):
            values = {"configs": (make(element_class(item_class, "configs"), {"name": key}),)}
        named = {"resource_type": resource_type, "resource_name": name.decode()}
        items.append(make(item_class, values | named))
    return messages.write(make(cls, {"resources": tuple(items)}))


def asked(api: Api, version: int, body: bytes) -> list[ConfigResource]:
    request = messages.parse(f"{api.name}Request", version, body)
    return [(r.resource_type, r.resource_name.encode()) for r in request.resources]


def serve(api: Api, version: int, body: bytes) -> bytes:
    cls = messages.message_class(f"{api.name}Response", version)
    array = items_of(api, version).answered
    items = tuple(
        make(
            element_class(cls, array),
            {"resource_type": resource_type, "resource_name": name.decode()},
        )
        for resource_type, name in reversed(asked(api, version, body))
    )
    return messages.write(make(cls, {array: items}))


def answered(api: Api, version: int, body: bytes) -> list[tuple[int, str, int, str | None]]:
    response = messages.parse(f"{api.name}Response", version, body)
    return [
        (r.resource_type, r.resource_name, int(r.error_code), r.error_message)
        for r in getattr(response, items_of(api, version).answered)
    ]


@pytest.mark.parametrize(("api", "version"), CASES)
def test_two_of_three_rejected(api: Api, version: int) -> None:
    resources = [(BROKER, b"1"), (TOPIC, b"1"), (TOPIC, b"a:t")]
    body = ask(api, version, resources, ["k"] * 3)
    denied = {(BROKER, b"1"): DENIED, (TOPIC, b"a:t"): DENIED}
    parts = split_items(api, version, body, denied)
    assert parts.body is not None
    assert asked(api, version, parts.body) == [(TOPIC, b"1")]
    response = merge_items(parts.kept, serve(api, version, parts.body))
    assert [row[:3] for row in answered(api, version, response)] == [
        (BROKER, "1", 29),
        (TOPIC, "1", 0),
        (TOPIC, "a:t", 29),
    ]
    assert answered(api, version, response)[0][3] == DENIED.message


@pytest.mark.parametrize(("api", "version"), CASES)
def test_all_rejected(api: Api, version: int) -> None:
    body = ask(api, version, [(TOPIC, b"a:t")], ["k"])
    parts = split_items(api, version, body, {(TOPIC, b"a:t"): DENIED})
    assert parts.body is None
    response = merge_items(parts.kept, None)
    assert answered(api, version, response) == [(TOPIC, "a:t", 29, DENIED.message)]
    assert response == reject_all_items(api, version, body, DENIED)


@pytest.mark.parametrize(("api", "version"), CASES)
@pytest.mark.parametrize(("second_key", "code"), [("k", 0), ("other", 42)])
def test_a_second_spelling_is_a_copy_where_it_asks_for_the_same(
    api: Api, version: int, second_key: str, code: int
) -> None:
    first, second = (TOPIC, b"a:t"), (TOPIC, b"a..t")
    body = ask(api, version, [second, first], [second_key, "k"])
    parts = split_items(api, version, body, {}, {second: first})
    assert parts.body is not None
    assert asked(api, version, parts.body) == [first]
    response = merge_items(parts.kept, serve(api, version, parts.body))
    assert [row[:3] for row in answered(api, version, response)] == [
        (TOPIC, "a..t", code),
        (TOPIC, "a:t", 0),
    ]


def test_a_second_spelling_of_a_rejected_resource_is_rejected() -> None:
    first, second = (TOPIC, b"a:t"), (TOPIC, b"a..t")
    api = api_named("DescribeConfigs")
    body = ask(api, 4, [first, second], ["k", "k"])
    parts = split_items(api, 4, body, {first: DENIED}, {second: first})
    assert parts.body is None
    response = merge_items(parts.kept, None)
    assert [row[2] for row in answered(api, 4, response)] == [29, 29]
