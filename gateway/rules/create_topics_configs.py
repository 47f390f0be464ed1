"""CreateTopics: the configs in its response are for whom may describe them (KIP-525)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from gateway.acl_model import Operation
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.rules.nested import changed
from gateway.views.access import Access
from protocol import messages

FIRST: Final = 5
"""The first version whose response holds configs."""

_DESCRIBE_CONFIGS: Final = int(Operation.DESCRIBE_CONFIGS)

_HIDDEN: Final[dict[str, object]] = {
    "topic_config_error_code": TOPIC_AUTHORIZATION_FAILED,
    "num_partitions": -1,
    "replication_factor": -1,
    "configs": (),
}


def hide(version: int, body: bytes, access: Access) -> bytes:
    """A response in the client's names, without the configs that it may not describe."""
    response = messages.parse("CreateTopicsResponse", version, body)
    topics = tuple(_shown(topic, access) for topic in response.topics)
    return messages.write(replace(response, topics=topics))


def _shown(topic: Any, access: Access) -> Any:
    named = access.topic_resource(topic.name.encode())
    if topic.error_code or named is None or access.denial(_DESCRIBE_CONFIGS, named) is None:
        return topic
    return changed(topic, _HIDDEN)
