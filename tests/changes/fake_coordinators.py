"""The groups and transactional ids of a broker in memory, as it lists them."""

from __future__ import annotations

from typing import Any

from gateway.cluster.link import ClusterUnreachable
from protocol.messages import Request, element_class, make

LOADING = 14
LIST_TRANSACTIONS = 66


class FakeCoordinators:
    """Responses of a broker that coordinates these ``groups`` and ``ids``. ``coordinator_error`` is
    the error with which it lists them; if ``silent``, it cannot be reached."""

    groups: list[str]
    ids: list[str]
    coordinator_error: int
    silent: bool

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """Respond as BrokerAdmin.ask does."""
        raise NotImplementedError

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        """Respond as BrokerAdmin.ask_at does."""
        assert address == ("10.0.0.1", 9092)
        if self.silent:
            raise ClusterUnreachable("main", {address: "refused the connection"})
        return await self.ask(request, changes=False)

    def _ListGroupsRequest(self, request: Any, cls: type) -> Any:
        group = element_class(cls, "groups")
        groups = tuple(make(group, {"group_id": one}) for one in self.groups)
        return make(cls, {"error_code": self.coordinator_error, "groups": groups})

    def _ListTransactionsRequest(self, request: Any, cls: type) -> Any:
        state = element_class(cls, "transaction_states")
        states = tuple(make(state, {"transactional_id": one}) for one in self.ids)
        return make(cls, {"error_code": self.coordinator_error, "transaction_states": states})
