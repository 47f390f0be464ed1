"""Removal of the groups of a deleted namespace: a namespace that is created under the same name
must not list them.

A group ``app`` of home ``team-a`` is ``team-a..app`` at the brokers, so its prefix shows its
namespace. Each broker lists, and deletes, the groups that it coordinates. Transactional ids have
the prefix, too, but Kafka has no request that deletes them; it forgets a transactional id
``transactional.id.expiration.ms`` after its last transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, Final

from gateway.brokers.one_each import one_each
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import batches
from gateway.names import below
from gateway.views.spelling import id_owner
from protocol.messages import Request
from protocol.pausing import paced
from protocol.schema import error_name

Address = tuple[str, int]

log = logging.getLogger(__name__)

_LIST: Final = Request("ListGroupsRequest", 5, {})
_DELETE_AT_MOST: Final = 2
_GONE: Final = frozenset({0, 69})
"""NONE and GROUP_ID_NOT_FOUND."""

_ELSEWHERE: Final = frozenset({14, 15, 16})
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE and NOT_COORDINATOR: a group may be
listed nowhere while its coordinator moves."""

_NON_EMPTY: Final = 68


class GroupRemoval:
    """Deletes groups of namespaces. ``addresses`` returns the brokers' addresses; ``ask_at`` sends
    a request to one of them and raises an OSError if that broker does not respond."""

    def __init__(
        self,
        addresses: Callable[[], Collection[Address]],
        ask_at: Callable[[Address, Request], Awaitable[Any]],
    ) -> None:
        self._addresses = addresses
        self._ask_at = ask_at
        self._logged: set[tuple[str, str]] = set()

    async def remove(
        self, snapshot: Snapshot, path: str, is_current: Callable[[], Awaitable[bool]]
    ) -> bool:
        """Delete the groups of a namespace and of the namespaces below it; True if no group is left
        that the brokers let the gateway delete.

        ``is_current`` returns whether the namespace is still the namespace of the ``snapshot``:
        groups have no ids, and a new namespace may have the same name. Raises OSError.
        """
        done = True
        for address in self._addresses():
            response = await self._ask_at(address, _LIST)
            if response.error_code in _ELSEWHERE:
                done = False
            listed = [group.group_id for group in paced(response.groups)]
            for batch in batches([one for one in paced(listed) if _is_of(snapshot, one, path)]):
                if not await is_current():
                    return False
                done &= await self._delete(address, batch, path)
        return done

    async def _delete(self, address: Address, groups: Sequence[str], path: str) -> bool:
        values = {"groups_names": list(groups)}
        request = Request("DeleteGroupsRequest", _DELETE_AT_MOST, values)
        response = await self._ask_at(address, request)
        results = one_each(groups, response.results, attrgetter("group_id"))
        # A group that the broker does not answer for is still there, as far as is known.
        done = None not in results.values()
        codes = {group: int(one.error_code) for group, one in results.items() if one is not None}
        for group, code in paced(codes.items()):
            if code not in _GONE | _ELSEWHERE:
                self._log(group, path, code)
        return done and all(code in _GONE or _is_final(code) for code in codes.values())

    def _log(self, group: str, path: str, code: int) -> None:
        if (group, path) in self._logged:
            return
        self._logged.add((group, path))
        if code == _NON_EMPTY:
            log.warning(
                "group %r has members, and namespace %r, which is deleted, waits until they have"
                " left",
                group,
                path,
            )
        else:
            log.warning(
                "group %r of namespace %r, which is deleted, stays: %s",
                group,
                path,
                error_name(code),
            )


def _is_of(snapshot: Snapshot, group: str, path: str) -> bool:
    owned = id_owner(snapshot, group)
    return owned is not None and below(owned[0], path) is not None


def _is_final(code: int) -> bool:
    """Whether another try is useless: a group that the gateway may not delete at the brokers must
    not delay the deletion of the namespace."""
    return code not in _ELSEWHERE and code != _NON_EMPTY
