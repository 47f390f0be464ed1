"""Requests that change topics and namespaces, sent to a whole session with a broker in memory, by a
client that is allowed only the listed operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.catalog.entities import Change
from gateway.exchanges.exchange import Work
from protocol import messages
from protocol.messages import element_class, make
from tests.session.allowing import Allowing
from tests.session.pair import Pair, request_frame

SET, DELETE = 0, 1
TOPIC = 2
DONE, FORBIDDEN, FORBIDDEN_CLUSTER = 0, 29, 31
INVALID, EXISTS, INVALID_CONFIG, BAD_REQUEST = 17, 36, 40, 42
Answer = tuple[int, str]
"""An item's error code and message."""


def pair(*allowed: str, **values: Any) -> Pair:
    """``allowed`` as for :class:`tests.session.allowing.Allowing`; the other values are the
    Pair's."""
    values = {"topics": ["team-a..orders", "team-b..x", "plain"], **values}
    return Pair(authorizer=Allowing(allowed), **values)


async def asked(
    one: Pair, api: str, version: int, *, meanwhile: Sequence[Change] = (), **values: Any
) -> Any:
    """The response that a client gets; the session goes on with the catalog after the request.

    Another client makes the changes ``meanwhile`` after the request was checked and before it is
    carried out.
    """
    cls = messages.message_class(f"{api}Request", version)
    one.session.client_data(request_frame(api, version, messages.build(cls, **values)))
    while (waiting := one.session.waiting) is not None:
        if isinstance(waiting, Work) and meanwhile:
            await one.catalog.change(lambda _: meanwhile)
        one.session.resume(await waiting.run() if isinstance(waiting, Work) else None)
    answer = one.answer(api, version)
    one.catalog_changed()
    return answer


async def create(
    one: Pair, *names: str, configs: dict[str, str] | None = None
) -> dict[str, Answer]:
    """CreateTopics: the code and message of each name."""
    cls = element_class(messages.message_class("CreateTopicsRequest", 7), "topics")
    config = element_class(cls, "configs")
    shown = tuple(make(config, {"name": k, "value": v}) for k, v in (configs or {}).items())
    values = {"num_partitions": 1, "replication_factor": 1, "configs": shown}
    topics = tuple(make(cls, {"name": name, **values}) for name in names)
    answer = await asked(one, "CreateTopics", 7, topics=topics)
    return {topic.name: (topic.error_code, topic.error_message or "") for topic in answer.topics}


async def delete(one: Pair, *names: str) -> dict[str, Answer]:
    """DeleteTopics: the code and message of each name."""
    cls = element_class(messages.message_class("DeleteTopicsRequest", 6), "topics")
    topics = tuple(make(cls, {"name": name}) for name in names)
    answer = await asked(one, "DeleteTopics", 6, topics=topics)
    return {t.name: (t.error_code, t.error_message or "") for t in answer.responses}


async def alter(
    one: Pair,
    name: str,
    operation: int = SET,
    api: str = "IncrementalAlterConfigs",
    meanwhile: Sequence[Change] = (),
    **configs: Any,
) -> Answer:
    """The code and message; ``gateway__namespace`` is the config ``gateway.namespace``."""
    cls = element_class(messages.message_class(f"{api}Request", 1), "resources")
    config = element_class(cls, "configs")
    shown = tuple(
        make(
            config,
            {"name": key.replace("__", "."), "value": value, "config_operation": operation},
        )
        for key, value in configs.items()
    )
    values = {"resource_type": TOPIC, "resource_name": name, "configs": shown}
    resources = (make(cls, values),)
    (done,) = (await asked(one, api, 1, resources=resources, meanwhile=meanwhile)).responses
    return done.error_code, done.error_message or ""


async def move(one: Pair, name: str, namespace: str, **configs: Any) -> Answer:
    """Move a topic: IncrementalAlterConfigs of ``gateway.namespace``."""
    return await alter(one, name, SET, gateway__namespace=namespace, **configs)
