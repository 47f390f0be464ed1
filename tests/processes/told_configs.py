"""An admin that returns the configs of brokers, for tests of policies that are configured with
them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from gateway.cluster.cluster import Cluster
from gateway.error_codes import INVALID_REQUEST
from protocol import messages
from protocol.messages import Request, element_class, make
from tests.brokers.asks_no_broker import AsksNoBroker

BROKER = 4


class ToldConfigs(AsksNoBroker):
    """The cluster and its admin: brokers 1 and 2, of which the second responds.

    ``configs`` maps keys to values, and to whether they are sensitive. ``error`` is its response
    instead, or is raised.
    """

    brokers = (1, 2)

    def __init__(self, configs: Mapping[str, tuple[str | None, bool]], version: int = 4) -> None:
        self.configs = configs
        self.version = version
        self.error: int | Exception = 0
        self.asked = 0

    @property
    def cluster(self) -> Cluster:
        """This, as the cluster that is asked for its brokers."""
        return cast(Cluster, self)

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """Respond as BrokerAdmin does."""
        assert (request.name, changes) == ("DescribeConfigsRequest", False)
        self.asked += 1
        if isinstance(self.error, Exception):
            raise self.error
        version = min(request.at_most, self.version)
        entity = request.entity(version)
        assert {r.resource_type for r in entity.resources} == {BROKER}
        cls = messages.message_class("DescribeConfigsResponse", version)
        results = (self._result(cls, r.resource_name) for r in entity.resources)
        return messages.build(cls, results=tuple(results))

    def _result(self, cls: type, name: str) -> Any:
        result = element_class(cls, "results")
        named: dict[str, object] = {"resource_type": BROKER, "resource_name": name}
        if name != "2" or self.error:
            code = self.error or INVALID_REQUEST
            return make(result, {**named, "error_code": code, "configs": ()})
        entry = element_class(result, "configs")
        configs = (
            make(entry, {"name": key, "value": value, "is_sensitive": sensitive})
            for key, (value, sensitive) in self.configs.items()
        )
        return make(result, {**named, "error_code": 0, "configs": tuple(configs)})
