"""DescribeConfigs of client metrics (KIP-714), from the catalog: brokers are not asked.

Results are a broker's (ConfigHelper): a subscription that does not exist has every default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gateway.changes.base.admin_rights import DESCRIBE_CONFIGS
from gateway.changes.base.context import Answered, Batch, Context
from gateway.changes.base.rejected import fitting, unavailable
from gateway.changes.base.subscription_rights import subscription_denial
from gateway.changes.configs.config_shape import Shape
from gateway.client_metrics_configs import (
    CONFIGS,
    DEFAULTS,
    INTERVAL,
    LISTS,
    MATCH,
    METRICS,
    WrongConfig,
    described,
)
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.names import DELIMITER
from gateway.views.access import Access
from gateway.views.subscription_names import subscription_named
from protocol import messages
from protocol.messages import changed, element_class, make
from protocol.pausing import paced

_DOCUMENTATION: Final = {
    METRICS: "Telemetry metric name prefix list",
    INTERVAL: "Metrics push interval in milliseconds",
    MATCH: "Client match criteria",
}


async def describe_client_metrics(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """DescribeConfigs of client metrics alone: whole bodies in the client's names, in and out. A
    subscription that does not exist has every default, as at a broker. Raises ProtocolError."""
    request = messages.parse("DescribeConfigsRequest", version, body)
    cls = messages.message_class("DescribeConfigsResponse", version)
    shape = Shape(
        element_class(cls, "results"),
        synonyms=getattr(request, "include_synonyms", False),
        documentation=getattr(request, "include_documentation", False),
    )
    batch: Batch[int, Any, Any] = Batch(
        context,
        access,
        range(len(request.resources)),
        spelled=lambda number: str(request.resources[number].resource_name),
    )
    try:
        await batch.refresh()
    except OSError as error:
        batch.reject(unavailable(error))
    else:
        for number, resource in enumerate(paced(request.resources, every=1)):
            batch.answer(number, _description(batch, shape, resource))
    results = tuple(
        shape.rejected(request.resources[number], fitting(answer))
        if isinstance(answer, Denied)
        else answer
        for number, answer in batch.results()
    )
    return batch.answered(messages.write(make(cls, {"results": results})))


def _description(batch: Batch[int, Any, Any], shape: Shape, resource: Any) -> Any:
    named = subscription_named(batch.view, resource.resource_name)
    if isinstance(named, Denied):
        return named
    namespace = named.rpartition(DELIMITER)[0]
    denied = subscription_denial(batch.access, DESCRIBE_CONFIGS, namespace)
    if denied is not None:
        return denied
    if not named or named.endswith(DELIMITER):
        text = "Client metrics subscription name must not be empty"
        return Denied(INVALID_REQUEST, text, "names")
    own: Mapping[str, str] = {}
    if batch.view.snapshot.missing_tier(namespace) is None:
        found = batch.view.snapshot.client_metrics.get(named)
        own = {} if found is None else found.configs
    # A broker's text of no error is empty, not null.
    return changed(shape.described(resource, [*_configs(shape, own)]), {"error_message": ""})


def _configs(shape: Shape, own: Mapping[str, str]) -> Iterator[Any]:
    for key in CONFIGS:
        try:
            value = described(key, own[key]) if key in own else DEFAULTS[key]
        except WrongConfig:  # in a damaged catalog
            value = own[key]
        yield shape.client_metrics(
            key,
            value,
            own=key in own,
            is_list=key in LISTS,
            documentation=_DOCUMENTATION[key],
        )
