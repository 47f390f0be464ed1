"""Writing to the catalog's partition on a real cluster: one transaction after the other.

The transaction protocol of KIP-98, step by step, because only then it is known after each failure
whether a record can have been committed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from aiokafka.record.default_records import DefaultRecordBatchBuilder

from gateway.brokers.security import BrokerSecurity
from gateway.catalog.log.kafka_connections import (
    PARTITION,
    Address,
    Connections,
    own_request,
    produce_request,
)
from gateway.catalog.log.records import Denied, Fenced, LogError, OutcomeUnknown, Record
from protocol.messages import Request
from protocol.schema import error_name

TRANSACTION_SECONDS: Final = 10.0
"""Seconds after which the broker aborts a transaction whose writer is gone."""

BATCH_BYTES: Final = 256 * 1024
STEP_SECONDS: Final = 5.0
"""Seconds for taking the id, for writing, and for committing. If no transaction was ever made
before, the broker creates its transaction log first, which may take longer: then it is tried
again."""

# The newest versions of KIP-98's protocol; in the versions of KIP-890 (transaction version 2) a
# commit would change the epoch.
NEEDS: Final[Mapping[str, int]] = {
    "FindCoordinatorRequest": 3,
    "InitProducerIdRequest": 1,
    "AddPartitionsToTxnRequest": 3,
    "EndTxnRequest": 3,
}
"""Kafka's name of a request made here -> its newest version."""

_RETRY_SECONDS: Final = 0.02
_TRANSACTION_COORDINATOR: Final = 1

# Kafka's error codes; the project's own table holds the codes with which clients are answered.
_COORDINATOR_LOAD_IN_PROGRESS: Final = 14
_COORDINATOR_MOVED: Final = frozenset({15, 16})
_CONCURRENT_TRANSACTIONS: Final = 51
_FENCED: Final = frozenset({47, 49, 90})  # the epoch, the id, or the producer is fenced
# The brokers' ACLs: on the topic, on the cluster, on the transactional id.
_DENIED: Final = frozenset({29, 31, 53})
_WAIT: Final = frozenset({_COORDINATOR_LOAD_IN_PROGRESS, _CONCURRENT_TRANSACTIONS})
_MAGIC: Final = 2


class _Producer(NamedTuple):
    id: int
    epoch: int


class KafkaTransactions:
    """Writes as the holder of a transactional id (gateway/catalog/log/records.py).

    Belongs to one event loop; one caller at a time.
    """

    def __init__(
        self,
        bootstrap_servers: Sequence[Address],
        topic: str,
        transactional_id: str,
        security: BrokerSecurity | None = None,
    ) -> None:
        self._connections = Connections(bootstrap_servers, topic, security)
        self._id = transactional_id
        self._coordinator: Address | None = None
        self._producer: _Producer | None = None
        self._sequence = 0

    async def take(self) -> None:
        """Take the id, which ends a transaction of another holder. Raises LogError."""
        self._producer = None
        try:
            async with asyncio.timeout(STEP_SECONDS):
                self._producer = await self._take()
        except TimeoutError:
            raise LogError(
                f"could not take the catalog's transactional id within {STEP_SECONDS:g} s"
            ) from None
        self._sequence = 0

    async def commit(self, records: Sequence[Record]) -> None:
        """Write all of the records, or none. Raises Fenced, OutcomeUnknown, LogError."""
        producer = self._producer
        if producer is None:
            raise LogError("the catalog's transactional id was not taken")
        # If anything fails, the next transaction begins with a new epoch.
        self._producer = None
        try:
            async with asyncio.timeout(STEP_SECONDS):
                await self._add_partition(producer)
                for batch, count in self._batches(producer, records):
                    await self._produce(batch)
                    self._sequence += count
        except TimeoutError:
            raise LogError("a transaction takes too long") from None
        await self._end(producer)
        self._producer = producer

    async def close(self) -> None:
        """Release the id, and close the connections."""
        self._producer = None
        self._coordinator = None
        await self._connections.close()

    async def _take(self) -> _Producer:
        timeout = timedelta(seconds=TRANSACTION_SECONDS)
        values = {"transactional_id": self._id, "transaction_timeout": timeout}
        request = own_request(NEEDS, "InitProducerIdRequest", values)
        while True:
            response = await self._ask_coordinator(request)
            if not response.error_code:
                return _Producer(response.producer_id, response.producer_epoch)
            await self._wait_or_raise(response.error_code, "taking the catalog's transactional id")

    async def _add_partition(self, producer: _Producer) -> None:
        values = {
            "v3_and_below_transactional_id": self._id,
            "v3_and_below_producer_id": producer.id,
            "v3_and_below_producer_epoch": producer.epoch,
            "v3_and_below_topics": [{"name": self._connections.topic, "partitions": [PARTITION]}],
        }
        request = own_request(NEEDS, "AddPartitionsToTxnRequest", values)
        while True:
            response = await self._ask_coordinator(request)
            codes = [
                partition.partition_error_code
                for topic in response.results_by_topic_v3_and_below
                for partition in topic.results_by_partition
            ]
            if codes == [0]:
                return
            await self._wait_or_raise(next(filter(None, codes), -1), "beginning a transaction")

    async def _produce(self, batch: bytes) -> None:
        topic = self._connections.topic
        request = produce_request(topic, PARTITION, batch, TRANSACTION_SECONDS, self._id)
        response = await self._connections.ask_leader(request, "write", TRANSACTION_SECONDS)
        for written in response.responses:
            for partition in written.partition_responses:
                if partition.error_code:
                    self._connections.forget_leader()
                    _raise(partition.error_code, "writing")

    async def _end(self, producer: _Producer) -> None:
        """Commit. Only here the outcome may stay unknown: the broker may commit without its
        response arriving."""
        values = {
            "transactional_id": self._id,
            "producer_id": producer.id,
            "producer_epoch": producer.epoch,
            "committed": True,
        }
        request = own_request(NEEDS, "EndTxnRequest", values)
        deadline = asyncio.get_running_loop().time() + STEP_SECONDS
        while True:
            try:
                response = await self._ask_coordinator(request)
            except LogError as error:
                raise OutcomeUnknown(str(error)) from error
            code = response.error_code
            if not code:
                return
            if code in _FENCED:
                _raise(code, "committing")
            if code not in _WAIT or asyncio.get_running_loop().time() > deadline:
                self._coordinator = None
                raise OutcomeUnknown(f"a broker does not say so ({error_name(code)})")
            await asyncio.sleep(_RETRY_SECONDS)

    async def _ask_coordinator(self, request: Request) -> Any:
        while self._coordinator is None:
            values = {"key": self._id, "key_type": _TRANSACTION_COORDINATOR}
            find = own_request(NEEDS, "FindCoordinatorRequest", values)
            found = await self._connections.ask_any(find, "coordinator")
            if not found.error_code:
                self._coordinator = (found.host, int(found.port))
                break
            await self._wait_or_raise(found.error_code, "finding the transaction coordinator")
        try:
            return await self._connections.ask(self._coordinator, request, "coordinator")
        except BaseException:
            self._coordinator = None
            raise

    async def _wait_or_raise(self, code: int, what: str) -> None:
        if code in _COORDINATOR_MOVED:
            self._coordinator = None
        elif code not in _WAIT:
            _raise(code, what)
        await asyncio.sleep(_RETRY_SECONDS)

    def _batches(
        self, producer: _Producer, records: Sequence[Record]
    ) -> Iterator[tuple[bytes, int]]:
        """Record batches, and the number of records in each; built as ``_sequence`` moves on."""
        now = int(time.time() * 1000)
        start = 0
        while start < len(records):
            builder = DefaultRecordBatchBuilder(
                _MAGIC, 0, True, producer.id, producer.epoch, self._sequence, BATCH_BYTES
            )
            count = 0
            for record in islice(records, start, None):
                headers = list(record.headers)
                if builder.append(count, now, record.key, record.value, headers) is None:
                    break
                count += 1
            yield bytes(builder.build()), count
            start += count


def _raise(code: int, what: str) -> None:
    text = f"{what} is refused ({error_name(code)})"
    if code in _DENIED:
        raise Denied(f"{text}: the brokers' ACLs deny it to the gateway's user")
    raise Fenced(text) if code in _FENCED else LogError(text)
