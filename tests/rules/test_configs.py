"""Config resources: the refused ones are answered here, the others by the broker."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gateway.decision import Denied
from gateway.rules import configs
from gateway.rules.api_keys import ApiKey
from gateway.rules.configs import RESOURCE_SHAPES, Resource
from gateway.rules.nested import element_class, has_field, make
from protocol import messages
from protocol.schema import request_name, response_name

TOPIC = 2
BROKER = 4
DENIED = Denied(29, "not yours", "access")
CASES = [
    pytest.param(shape.api_key, version, id=f"{shape.api_key.name}-{version}")
    for shape in RESOURCE_SHAPES.values()
    for version in range(shape.first, shape.last + 1)
]


def ask(api_key: int, version: int, resources: Sequence[Resource], keys: Sequence[str]) -> bytes:
    """``keys`` has one config name for each resource."""
    cls = messages.message_class(request_name(api_key), version)
    item_class = element_class(cls, "resources")
    items = []
    for (resource_type, name), key in zip(resources, keys, strict=True):
        values: dict[str, object] = {"configuration_keys": (key,)}
        if has_field(item_class, "configs"):
            values = {"configs": (make(element_class(item_class, "configs"), {"name": key}),)}
        named = {"resource_type": resource_type, "resource_name": name.decode()}
        items.append(make(item_class, values | named))
    return messages.write(make(cls, {"resources": tuple(items)}))


def asked(api_key: int, version: int, body: bytes) -> list[Resource]:
    request = messages.parse(request_name(api_key), version, body)
    return [(r.resource_type, r.resource_name.encode()) for r in request.resources]


def serve(api_key: ApiKey, version: int, body: bytes) -> bytes:
    cls = messages.message_class(response_name(api_key), version)
    array = RESOURCE_SHAPES[api_key].answered
    items = tuple(
        make(
            element_class(cls, array),
            {"resource_type": resource_type, "resource_name": name.decode()},
        )
        for resource_type, name in reversed(asked(api_key, version, body))
    )
    return messages.write(make(cls, {array: items}))


def answered(api_key: ApiKey, version: int, body: bytes) -> list[tuple[int, str, int, str | None]]:
    response = messages.parse(response_name(api_key), version, body)
    return [
        (r.resource_type, r.resource_name, int(r.error_code), r.error_message)
        for r in getattr(response, RESOURCE_SHAPES[api_key].answered)
    ]


@pytest.mark.parametrize(("api_key", "version"), CASES)
def test_two_of_three_refused(api_key: ApiKey, version: int) -> None:
    resources = [(BROKER, b"1"), (TOPIC, b"1"), (TOPIC, b"a:t")]
    body = ask(api_key, version, resources, ["k"] * 3)
    denied = {(BROKER, b"1"): DENIED, (TOPIC, b"a:t"): DENIED}
    parts = configs.split(api_key, version, body, denied)
    assert parts.body is not None
    assert asked(api_key, version, parts.body) == [(TOPIC, b"1")]
    response = configs.merge(parts.kept, serve(api_key, version, parts.body))
    assert [row[:3] for row in answered(api_key, version, response)] == [
        (BROKER, "1", 29),
        (TOPIC, "1", 0),
        (TOPIC, "a:t", 29),
    ]
    assert answered(api_key, version, response)[0][3] == DENIED.message


@pytest.mark.parametrize(("api_key", "version"), CASES)
def test_all_refused(api_key: ApiKey, version: int) -> None:
    body = ask(api_key, version, [(TOPIC, b"a:t")], ["k"])
    parts = configs.split(api_key, version, body, {(TOPIC, b"a:t"): DENIED})
    assert parts.body is None
    response = configs.merge(parts.kept, None)
    assert answered(api_key, version, response) == [(TOPIC, "a:t", 29, DENIED.message)]
    assert response == configs.refuse_all(api_key, version, body, DENIED)


@pytest.mark.parametrize(("api_key", "version"), CASES)
@pytest.mark.parametrize(("second_key", "code"), [("k", 0), ("other", 42)])
def test_a_second_spelling_is_a_copy_where_it_asks_for_the_same(
    api_key: ApiKey, version: int, second_key: str, code: int
) -> None:
    first, second = (TOPIC, b"a:t"), (TOPIC, b"a..t")
    body = ask(api_key, version, [second, first], [second_key, "k"])
    parts = configs.split(api_key, version, body, {}, {second: first})
    assert parts.body is not None
    assert asked(api_key, version, parts.body) == [first]
    response = configs.merge(parts.kept, serve(api_key, version, parts.body))
    assert [row[:3] for row in answered(api_key, version, response)] == [
        (TOPIC, "a..t", code),
        (TOPIC, "a:t", 0),
    ]


def test_a_second_spelling_of_a_refused_resource_is_refused() -> None:
    first, second = (TOPIC, b"a:t"), (TOPIC, b"a..t")
    body = ask(ApiKey.DESCRIBE_CONFIGS, 4, [first, second], ["k", "k"])
    parts = configs.split(ApiKey.DESCRIBE_CONFIGS, 4, body, {first: DENIED}, {second: first})
    assert parts.body is None
    response = configs.merge(parts.kept, None)
    assert [row[2] for row in answered(ApiKey.DESCRIBE_CONFIGS, 4, response)] == [29, 29]
