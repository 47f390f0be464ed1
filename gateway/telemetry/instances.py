"""Client instances: whether a request of a client comes too early, and its other checks.

The checks and their order are Kafka's (ClientMetricsManager, ClientMetricsInstance). A client
whose namespace requests no metrics is not remembered.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final, NamedTuple

from gateway.client_metrics import Requested
from gateway.error_codes import (
    INVALID_REQUEST,
    NONE,
    TELEMETRY_TOO_LARGE,
    THROTTLING_QUOTA_EXCEEDED,
    UNKNOWN_SUBSCRIPTION_ID,
    UNSUPPORTED_COMPRESSION_TYPE,
)
from gateway.telemetry.limits import MAX_BYTES

UNCOMPRESSED: Final = 0
GZIP: Final = 1
ACCEPTED: Final = (GZIP,)
"""The compression types that clients are told of. The others of Kafka are not, because what they
unpack to could not be bounded before it is in memory."""

RESERVED: Final = frozenset({bytes(16), bytes(15) + b"\x01"})
"""Ids that no client instance has (Kafka's Uuid.RESERVED)."""

MAX_INSTANCES: Final = 16_384
"""Instances that a worker remembers, as a broker does. Of more, one of the owner with the most is
forgotten, so that no tenant's requests change what another one gets; its next request is never too
early."""

MIN_LIFE: Final = 60.0
"""Seconds for which a silent instance is remembered at least; else for three push intervals."""

_NEVER: Final = float("-inf")

_GOES_ON: Final = frozenset({UNKNOWN_SUBSCRIPTION_ID, UNSUPPORTED_COMPRESSION_TYPE})
"""Errors after which a client requests its subscription again at once."""


class Owner(NamedTuple):
    """The tenant that a client instance belongs to: instances of two owners have nothing in common,
    whatever ids they send.

    ``cluster`` is the one of the listener's volume, ``home`` the client's home namespace there.
    """

    cluster: str
    listener: str
    home: str
    principal: str


class InstanceKey(NamedTuple):
    """A client instance of an owner; ``instance_id`` are the 16 bytes of Kafka's Uuid."""

    owner: Owner
    instance_id: bytes


class Push(NamedTuple):
    """A PushTelemetry request, as far as it is checked before its metrics are read."""

    subscription_id: int
    compression: int
    size: int
    terminating: bool


@dataclass(slots=True)
class _Instance:
    """Times are seconds of a monotonic clock."""

    requested: Requested
    forgotten_at: float
    got_at: float = _NEVER
    pushed_at: float = _NEVER
    terminating: bool = False
    last_error: int = NONE


class Instances:
    """The client instances of a worker: of each owner those first that are silent longest."""

    def __init__(self) -> None:
        self._known: dict[Owner, OrderedDict[bytes, _Instance]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def knows(self, key: InstanceKey) -> bool:
        """Whether the instance is remembered."""
        return self._find(key) is not None

    def get(self, key: InstanceKey, requested: Requested, now: float) -> int:
        """The error code for a GetTelemetrySubscriptions request."""
        instance = self._instance(key, requested, now)
        if instance is None:
            return NONE
        early = now - max(instance.got_at, instance.pushed_at) < requested.interval_ms / 1000
        if early and instance.last_error not in _GOES_ON:
            return THROTTLING_QUOTA_EXCEEDED
        if not early:  # else its next push is due when it was, as at a broker
            instance.got_at = now
        instance.last_error = NONE
        return NONE

    def push(self, key: InstanceKey, requested: Requested, push: Push, now: float) -> int:
        """The error code for a PushTelemetry request, before its metrics are read."""
        if key.instance_id in RESERVED:
            return INVALID_REQUEST
        instance = self._instance(key, requested, now)
        if instance is None:
            return _error_of(push, requested)
        code = _too_early(instance, push, now) or _error_of(push, requested)
        instance.terminating, instance.last_error = push.terminating, code
        return code

    def failed(self, key: InstanceKey, code: int) -> None:
        """Note that the metrics of a push could not be kept."""
        instance = self._find(key)
        if instance is not None:
            instance.last_error = code

    def forget(self, now: float) -> None:
        """Forget silent instances. One that waits behind another one of its owner with a longer
        interval is forgotten later."""
        for owner, of_owner in list(self._known.items()):
            while of_owner:
                first = next(iter(of_owner))
                if of_owner[first].forgotten_at > now:
                    break
                self._remove(owner, first)

    def _instance(self, key: InstanceKey, requested: Requested, now: float) -> _Instance | None:
        """The instance, a new one if its subscriptions have changed; None if it has none."""
        instance = self._find(key)
        if instance is not None and (
            instance.forgotten_at <= now
            or instance.requested.subscription_id != requested.subscription_id
        ):
            self._remove(*key)
            instance = None
        if not requested.metrics:
            return None
        if instance is None:
            while self._count >= MAX_INSTANCES:
                largest = max(self._known, key=lambda owner: len(self._known[owner]))
                self._remove(largest, next(iter(self._known[largest])))
            instance = _Instance(requested, now)
            self._known.setdefault(key.owner, OrderedDict())[key.instance_id] = instance
            self._count += 1
        instance.forgotten_at = now + max(MIN_LIFE, 3 * requested.interval_ms / 1000)
        self._known[key.owner].move_to_end(key.instance_id)
        return instance

    def _find(self, key: InstanceKey) -> _Instance | None:
        of_owner = self._known.get(key.owner)
        return None if of_owner is None else of_owner.get(key.instance_id)

    def _remove(self, owner: Owner, instance_id: bytes) -> None:
        of_owner = self._known[owner]
        del of_owner[instance_id]
        self._count -= 1
        if not of_owner:
            del self._known[owner]


def _too_early(instance: _Instance, push: Push, now: float) -> int:
    """The error code of a push that comes after the last one, or too early. The first push after
    GetTelemetrySubscriptions may come at any time, because clients vary the interval."""
    if instance.terminating:
        return INVALID_REQUEST
    first = instance.got_at > instance.pushed_at
    if first or now - instance.pushed_at >= instance.requested.interval_ms / 1000:
        instance.pushed_at = now
        return NONE
    return NONE if push.terminating else THROTTLING_QUOTA_EXCEEDED


def _error_of(push: Push, requested: Requested) -> int:
    if push.subscription_id != requested.subscription_id:
        return UNKNOWN_SUBSCRIPTION_ID
    if push.compression not in (UNCOMPRESSED, GZIP):
        return UNSUPPORTED_COMPRESSION_TYPE
    return TELEMETRY_TOO_LARGE if push.size > MAX_BYTES else NONE
