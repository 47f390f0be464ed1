"""The fake gateway with groups: the offsets that they have committed, and the coordinators'
responses."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from gateway.commands.groups.coordinator import Partition, Position
from protocol.messages import element_class, has_field, make
from tests.commands.fake_gateway import HOST, FakeGateway
from tests.commands.fake_namespaces import Handler


class FakeGroups(FakeGateway):
    """``offsets`` by group, ``states`` of groups that are not Empty; ``codes`` are the errors of
    the next responses of an API, ``refused`` the errors of single partitions in OffsetCommit.
    ``committed`` is called after each OffsetCommit that is answered."""

    def __init__(self, *namespaces: str, spelling: str = "colon") -> None:
        super().__init__(*namespaces, spelling=spelling)
        self.offsets: dict[str, dict[Partition, Position]] = {}
        self.states: dict[str, str] = {}
        self.codes: dict[str, deque[int]] = {}
        self.rejected: dict[Partition, int] = {}
        self.unstable: set[Partition] = set()
        self.operations: int | None = None  # in DescribeCluster; None: it is not served
        self.committed: Callable[[], None] = lambda: None

    def handlers(self) -> dict[str, Handler]:
        """The handlers, as in FakeNamespaces."""
        told = {"DescribeCluster": self._cluster} if self.operations is not None else {}
        return (
            super().handlers()
            | told
            | {
                "FindCoordinator": self._find,
                "ListGroups": self._list,
                "Metadata": self._with_brokers,
                "OffsetCommit": self._commit,
                "OffsetFetch": self._fetch,
            }
        )

    def _code(self, api: str) -> int:
        codes = self.codes.get(api)
        return codes.popleft() if codes else 0

    def _find(self, request: Any, response: type) -> dict[str, object]:
        code = self._code("FindCoordinator")
        return {"error_code": code, "node_id": 0, "host": HOST, "port": self.port}

    def _cluster(self, request: Any, response: type) -> dict[str, object]:
        assert request.include_cluster_authorized_operations
        return {"cluster_id": "c", "cluster_authorized_operations": self.operations}

    def _with_brokers(self, request: Any, response: type) -> dict[str, object]:
        broker = {"node_id": 0, "host": HOST, "port": self.port}
        brokers = (make(element_class(response, "brokers"), broker),)
        return self._metadata(request, response) | {"brokers": brokers}

    def _list(self, request: Any, response: type) -> dict[str, object]:
        group = element_class(response, "groups")
        known = dict.fromkeys(self.offsets, "Empty") | self.states
        listed = tuple(
            make(group, {"group_id": name, "group_state": state}) for name, state in known.items()
        )
        return {"error_code": self._code("ListGroups"), "groups": listed}

    def _fetch(self, request: Any, response: type) -> dict[str, object]:
        assert request.topics is None
        topic = element_class(response, "topics")
        partition = element_class(topic, "partitions")
        held = self.offsets.get(request.group_id, {})
        topics = []
        for name in dict.fromkeys(one.topic for one in held):
            partitions = tuple(
                make(
                    partition,
                    {
                        "partition_index": one.number,
                        "committed_offset": position.offset,
                        "committed_leader_epoch": position.leader_epoch,
                        "metadata": position.metadata,
                        "error_code": 88 if one in self.unstable and request.require_stable else 0,
                    },
                )
                for one, position in held.items()
                if one.topic == name
            )
            topics.append(make(topic, {"name": name, "partitions": partitions}))
        return {"error_code": self._code("OffsetFetch"), "topics": tuple(topics)}

    def _commit(self, request: Any, response: type) -> dict[str, object]:
        assert (request.generation_id_or_member_epoch, request.member_id) == (-1, "")
        assert not has_field(type(request), "group_instance_id") or not request.group_instance_id
        topic = element_class(response, "topics")
        partition = element_class(topic, "partitions")
        every = self._code("OffsetCommit")
        held = self.offsets.setdefault(request.group_id, {})
        topics = []
        for asked in request.topics:
            partitions = []
            for one in asked.partitions:
                key = Partition(asked.name, one.partition_index)
                code = every or self.rejected.get(key, 0)
                if not code:
                    held[key] = Position(
                        one.committed_offset, one.committed_leader_epoch, one.committed_metadata
                    )
                values = {"partition_index": one.partition_index, "error_code": code}
                partitions.append(make(partition, values))
            topics.append(make(topic, {"name": asked.name, "partitions": tuple(partitions)}))
        self.committed()
        return {"topics": tuple(topics)}
