"""Declared APIs, as the tests of rules name them."""

from __future__ import annotations

from gateway.apis.table import APIS
from gateway.exchanges.api import Api
from gateway.rules.declaration import ItemShape, TopicShape


def api_named(name: str) -> Api:
    """The declaration of an API, by Kafka's name for it."""
    return next(api for api in APIS.values() if api.name == name)


def topics_of(api: Api, version: int) -> TopicShape:
    """The place of the topics at a version that has an array of them."""
    shape = api.topic_shape(version)
    assert shape is not None
    return shape


def items_of(api: Api, version: int) -> ItemShape:
    """The place of other items at a version that has an array of them."""
    shape = api.item_shape(version)
    assert shape is not None
    return shape
