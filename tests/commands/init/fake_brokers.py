"""Brokers in this process, as ``init`` sees them: their responses, and the versions they serve."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from typing import Any, Self

from devkit.certificates import Credentials
from protocol.messages import element_class, make
from protocol.schema import api_key_of
from tests.commands.fake_gateway import HOST, FakeGateway

__all__ = ["HOST", "FakeBrokers"]

UNKNOWN_TOPIC, TOPIC_AUTHORIZATION_FAILED = 3, 29
UNKNOWN_MECHANISM, NO_SASL = 33, 34
SECURITY_DISABLED = 54


class FakeBrokers(FakeGateway):
    """Brokers at the same address, the server's here, unless ``addresses`` has another.

    ``topics`` are flat names with the node ids of their replicas. If there are ``mechanisms``, only
    a login is answered, which cannot succeed here. If there are ``credentials``, they speak TLS.
    ``acls`` is the error code of DescribeAcls, ``named`` the error code of a named topic in
    Metadata. If ``is_controller``, they know no Metadata.
    """

    def __init__(
        self,
        node_ids: Sequence[int] = (1,),
        *,
        flat_topics: Mapping[str, Sequence[int]] | None = None,
        addresses: Mapping[int, tuple[str, int]] | None = None,
        mechanisms: Sequence[str] = (),
        credentials: Credentials | None = None,
        acls: int | None = SECURITY_DISABLED,
        named: int = UNKNOWN_TOPIC,
        levels: tuple[int, int] | None = (30, 30),
        is_controller: bool = False,
    ) -> None:
        super().__init__()
        self.node_ids = node_ids
        self.flat_topics = flat_topics or {}
        self.addresses = addresses or {}
        self.mechanisms = mechanisms
        self.credentials = credentials
        self.acls = acls
        self.named_code = named
        self.levels = levels
        self.is_controller = is_controller

    async def __aenter__(self) -> Self:
        context = None
        if self.credentials is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.credentials.certificate, self.credentials.key)
        self._server = await asyncio.start_server(self._serve, HOST, 0, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def handlers(self) -> dict[str, Any]:
        known: dict[str, Any] = {
            "SaslHandshake": self._handshake,
            "SaslAuthenticate": lambda *_: {"error_code": 58, "error_message": "No."},
        }
        if not self.is_controller:
            known["Metadata"] = self._brokers
        if self.acls is not None:
            known["DescribeAcls"] = lambda *_: {"error_code": self.acls}
        return known

    def _answer(self, payload: bytes) -> bytes | None:
        login = {"ApiVersions", "SaslHandshake", "SaslAuthenticate"}
        keys = {api_key_of(f"{name}Request") for name in login}
        if self.mechanisms and int.from_bytes(payload[:2], "big") not in keys:
            return None
        return super()._answer(payload)

    def _api_versions(self, response: type) -> dict[str, object]:
        values = super()._api_versions(response)
        if self.levels is None:
            return values
        supported, finalized = self.levels
        name = {"name": "metadata.version"}
        range_ = name | {"min_version": 7, "max_version": supported}
        level = name | {"min_version_level": finalized, "max_version_level": finalized}
        cls = element_class(response, "supported_features")
        values["supported_features"] = (make(cls, range_),)
        cls = element_class(response, "finalized_features")
        values["finalized_features"] = (make(cls, level),)
        return values

    def _handshake(self, request: Any, _: type) -> dict[str, object]:
        if not self.mechanisms:
            return {"error_code": NO_SASL}
        code = 0 if request.mechanism in self.mechanisms else UNKNOWN_MECHANISM
        return {"error_code": code, "mechanisms": tuple(self.mechanisms)}

    def _brokers(self, request: Any, response: type) -> dict[str, object]:
        if request.topics is not None:
            cls = element_class(response, "topics")
            named = [{"name": one.name, "error_code": self.named_code} for one in request.topics]
            return {"topics": tuple(make(cls, each) for each in named)}
        brokers = []
        for node in self.node_ids:
            host, port = self.addresses.get(node, (HOST, self.port))
            brokers.append({"node_id": node, "host": host, "port": port})
        topics = [
            {"name": name, "partitions": ({"partition_index": 0, "replica_nodes": tuple(nodes)},)}
            for name, nodes in self.flat_topics.items()
        ]
        return {
            "brokers": tuple(brokers),
            "cluster_id": "kafka-1",
            "controller_id": self.node_ids[0],
            "topics": tuple(topics),
        }
