"""The configs of namespaces (KIP-37: Namespace Configs): validated, and changed by operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from gateway.changes.context import Context
from gateway.changes.refused import Refused
from gateway.changes.topic_configs import APPEND, DELETE, SET, SUBTRACT, Operation
from gateway.changes.virtual_configs import is_virtual, refuse_on_namespace
from gateway.decision import Denied
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST
from gateway.rules.nested import element_class, has_field, make
from protocol.pausing import eased, paced

LIST_TYPE = 7
"""LIST (DescribeConfigsResponse.ConfigType)."""

_DEFAULTS_SINCE = 4  # KIP-464: -1 for the cluster's default partition count and replication


def split_virtual(
    configs: Mapping[str, str | None],
) -> tuple[dict[str, str | None], dict[str, str | None]]:
    """The configs that the broker knows, and those that are the gateway's (``gateway.*``)."""
    broker = {key: value for key, value in paced(configs.items()) if not is_virtual(key)}
    return broker, {key: value for key, value in paced(configs.items()) if is_virtual(key)}


async def validate(context: Context, configs: Mapping[str, str]) -> Denied | None:
    """Why the broker would not take these configs for a topic; None: it would.

    It is asked to make a topic of a random name, for validation only. Raises OSError.
    """
    if not configs:
        return None
    topic = await probe(context, configs)
    code = int(topic.error_code)
    if not code:
        return None
    text = getattr(topic, "error_message", None) or "The broker refuses these configs."
    return Denied(code, text.replace(topic.name, "(a topic)"), "broker")


async def probe(context: Context, configs: Mapping[str, str]) -> Any:
    """The broker's answer about a topic with these configs, which is not made.

    Its name is a random one. Raises OSError.
    """
    name = f"gateway-validation-{uuid4().hex}"

    def request(cls: Any) -> Any:
        topic = element_class(cls, "topics")
        config = element_class(topic, "configs")
        count = -1 if cls.__version__ >= _DEFAULTS_SINCE else 1
        values: dict[str, object] = {
            "name": name,
            "num_partitions": count,
            "replication_factor": count,
            "configs": tuple(
                make(config, {"name": key, "value": value}) for key, value in configs.items()
            ),
        }
        assert has_field(cls, "validate_only")
        return make(cls, {"topics": (make(topic, values),), "validate_only": True})

    response = await context.admin.ask("CreateTopicsRequest", request, at_most=7, changes=False)
    (topic,) = response.topics
    return topic


def altered(
    own: Mapping[str, str],
    operations: Sequence[Operation],
    above: Mapping[str, str],
    defaults: Mapping[str, tuple[str, int]],
) -> dict[str, str]:
    """A namespace's own configs after ``operations`` (IncrementalAlterConfigs on it).

    ``above`` is what it inherits, ``defaults`` the cluster's (value, config type) by key: what is
    appended to a key that the namespace does not set is appended to these, as a broker does for
    topics. Whether key and value are any good is the broker's to say. Raises :class:`Refused`.
    """
    new = dict(own)
    seen: set[str] = set()
    for one in eased(operations):
        if is_virtual(one.key):
            raise refuse_on_namespace(one.key)
        if one.key in seen:
            raise Refused(INVALID_REQUEST, f"Config key '{one.key}' is in the request twice.")
        seen.add(one.key)
        if one.operation == DELETE:
            new.pop(one.key, None)
        elif one.value is None:
            raise Refused(INVALID_REQUEST, f"Config '{one.key}' has no value.")
        elif one.operation == SET:
            new[one.key] = one.value
        elif one.operation not in (APPEND, SUBTRACT):
            message = f"Operation {one.operation} on config '{one.key}' is none of Kafka's."
            raise Refused(INVALID_REQUEST, message)
        else:
            default, config_type = defaults.get(one.key, ("", LIST_TYPE))
            if config_type != LIST_TYPE:
                message = f"Config '{one.key}' is no list, so nothing is added to it or taken off."
                raise Refused(INVALID_CONFIG, message)
            present = new.get(one.key, above.get(one.key, default))
            new[one.key] = _with(present, one)
    return new


def _with(present: str, one: Operation) -> str:
    items = [item.strip() for item in present.split(",") if item.strip()]
    named = [item.strip() for item in (one.value or "").split(",") if item.strip()]
    if one.operation == SUBTRACT:
        return ",".join(item for item in items if item not in named)
    return ",".join([*items, *(item for item in named if item not in items)])
