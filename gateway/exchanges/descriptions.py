"""Brokers' descriptions of KIP-848 groups and of share groups, requested over clients' own
connections."""

from __future__ import annotations

import asyncio
from operator import attrgetter
from typing import Any, Final

from gateway.brokers.errors import BrokerError
from gateway.brokers.login_exchange import Ask
from gateway.brokers.one_each import NotAnswered, only_one
from protocol import messages

DESCRIBE: Final = "ConsumerGroupDescribeRequest"
DESCRIBE_VERSION: Final = 0


class Descriptions:
    """Brokers' descriptions of groups. Members of a group that wait share a description that was
    requested after all of them had arrived, so no member can have changed elsewhere since."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], asyncio.Future[Any]] = {}

    async def of(
        self, group_id: str, ask: Ask, name: str = DESCRIBE, version: int = DESCRIBE_VERSION
    ) -> Any:
        """The description of a group (its flat id) by the request with this ``name``, requested
        after this call. Raises BrokerError, and whatever else ``ask`` raises."""
        key = (name, group_id)
        earlier = self._asked.get(key)
        if earlier is not None:
            await asyncio.wait([earlier])
            later = self._asked.get(key)
            if later is not None and (found := await asyncio.shield(later)) is not None:
                return found
        mine = self._asked[key] = asyncio.get_running_loop().create_future()
        found = None
        try:
            request = messages.message_class(name, version)
            wanted = messages.build(request, group_ids=(group_id,))
            response = await ask(name, version, wanted)
            found = only_one(group_id, response.groups, attrgetter("group_id"))
        except NotAnswered as error:
            raise BrokerError(str(error)) from None
        finally:
            if self._asked.get(key) is mine:
                del self._asked[key]
            mine.set_result(found)
        return found
