"""How long clients of a gateway wait for responses about its own cluster."""

from __future__ import annotations

import io
import math
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.steady import PAUSE, Steady
from tests.live.support.wire import Wire

GROUP: Final = "probed"


class Prober(Steady):
    """A client that repeats the same few requests about a topic, in turn.

    It requests the topic's metadata and a group's coordinator from ``servers``, and writes a record
    to the topic's leader; ``took`` has the seconds of each request.
    """

    def __init__(self, servers: str, topic: str) -> None:
        super().__init__(f"prober of {topic}", self._work)
        self.took: list[float] = []
        self._servers = servers
        self._topic = topic

    def await_requests(self, count: int) -> list[float]:
        """The seconds that its next ``count`` requests take."""
        begin = len(self.took)
        wait_until(
            lambda: self.problems or len(self.took) >= begin + count,
            f"{count} requests of the {self.name}",
            clients.SECONDS,
        )
        self.check()
        return self.took[begin:]

    def _work(self, _: Steady) -> None:
        records = _record()
        leader = clients.leader_address(self._servers, self._topic)
        with Wire(self._servers) as bootstrap, Wire(leader) as node:
            while not self.stopping.wait(PAUSE):
                metadata = self._timed(
                    bootstrap, "Metadata", 12, topics=[{"topic_id": None, "name": self._topic}]
                )
                self._check(metadata.topics[0])
                self._check(metadata.topics[0].partitions[0])
                self._timed(bootstrap, "FindCoordinator", 4, key_type=0, coordinator_keys=[GROUP])
                data = [{"name": self._topic, "partition_data": [{"index": 0, "records": records}]}]
                produced = self._timed(
                    node, "Produce", 9, transactional_id=None, acks=1,
                    timeout=timedelta(seconds=30), topic_data=data,
                )  # fmt: skip
                self._check(produced.responses[0].partition_responses[0])
                self.rounds += 1

    def _timed(self, wire: Wire, name: str, version: int, /, **values: object) -> Any:
        began = time.monotonic()
        answer = wire.ask(name, version, **values)
        self.took.append(time.monotonic() - began)
        return answer

    def _check(self, answered: Any) -> None:
        if int(answered.error_code):
            self.problems.append(str(answered))


def p99(seconds: Sequence[float]) -> float:
    """The 99th percentile of these."""
    return sorted(seconds)[math.ceil(0.99 * len(seconds)) - 1]


def _record() -> bytes:
    """A batch of a single record, of a producer without an id."""
    record = Record(
        attributes=i8(0),
        timestamp=TZAwareMicros.parse(datetime.fromtimestamp(int(time.time()), UTC)),
        offset=i64(0),
        key=None,
        value=b"probe",
        headers=(),
    )
    made = NewRecordBatch(
        producer_id=i64(-1),
        producer_epoch=i16(-1),
        base_sequence=i32(-1),
        attributes=i16(0),
        records=(record,),
    )
    out = io.BytesIO()
    write_batch(out, made)
    return out.getvalue()
