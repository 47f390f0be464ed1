"""AlterConfigs and IncrementalAlterConfigs of client metrics (KIP-714), in the catalog.

Subscriptions are entities of the catalog; brokers are neither asked nor told. Errors and their
order are a broker's: what is malformed is rejected first (ConfigAdminManager), then what is not
allowed, then what the new state as a whole would be (ClientMetricsConfigs). A subscription without
configs is none, so deleting the last one deletes it. All resources of a request are altered in one
change of the catalog.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from gateway.catalog.entities import Change, ClientMetrics, Removal, key_of
from gateway.catalog.members import FormatRejected, at_least, who_cannot_read
from gateway.catalog.schema.table import METRICS_FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.tallies import Grown
from gateway.changes.base.admin_rights import ALTER_CONFIGS
from gateway.changes.base.context import Answered, Batch, Context, error_fields, write_response
from gateway.changes.base.rejected import (
    Rejected,
    fitting,
    reject_if,
    shown_namespace,
    unavailable,
)
from gateway.changes.base.resources import APPEND, DELETE, SET, SUBTRACT, Operation
from gateway.changes.base.subscription_limits import SUBSCRIPTIONS, number_limits
from gateway.changes.base.subscription_rights import subscription_denial
from gateway.client_metrics_configs import WrongConfig, check
from gateway.decision import Denied
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST, POLICY_VIOLATION
from gateway.names import DELIMITER
from gateway.views.access import Access
from gateway.views.subscription_names import subscription_named
from protocol import messages
from protocol.pausing import paced

_TWICE: Final = Denied(INVALID_REQUEST, "Each resource must appear at most once.", "request")
_OPERATIONS: Final = {APPEND: "APPEND", SUBTRACT: "SUBTRACT"}


class _NeedsFormat(Exception):
    """The catalog's format has to be raised before it can hold a subscription."""


@dataclass(frozen=True, slots=True)
class _Item:
    """A subscription of a request, by its full name, with the operations on its configs."""

    name: str
    operations: tuple[Operation, ...] = ()

    @property
    def namespace(self) -> str:
        return self.name.rpartition(DELIMITER)[0]


async def alter_client_metrics(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """AlterConfigs of client metrics alone: the configs in the request take the place of all. Whole
    bodies in the client's names, in and out. Raises ProtocolError."""
    return await _alter(context, access, version, body, "AlterConfigs")


async def incremental_alter_client_metrics(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """IncrementalAlterConfigs of client metrics alone: as :func:`alter_client_metrics`, and configs
    that the request does not name stay."""
    return await _alter(context, access, version, body, "IncrementalAlterConfigs")


async def _alter(context: Context, access: Access, version: int, body: bytes, api: str) -> Answered:
    request = messages.parse(f"{api}Request", version, body)
    resources = request.resources
    batch = _batch(context, access, resources)
    whole = api == "AlterConfigs"
    try:
        await batch.refresh()
        _read(batch, resources)
        if batch.left:
            await _change(batch, whole=whole, validate_only=request.validate_only)
    except OSError as error:
        batch.reject(unavailable(error))
    entries = (
        {
            **error_fields(why if why is None else fitting(why)),
            "resource_type": resources[number].resource_type,
            "resource_name": resources[number].resource_name,
        }
        for number, why in batch.results()
    )
    return batch.answered(write_response(f"{api}Response", version, "responses", entries))


def _batch(context: Context, access: Access, resources: Sequence[Any]) -> Batch[int, _Item, None]:
    return Batch(
        context,
        access,
        range(len(resources)),
        spelled=lambda number: str(resources[number].resource_name),
    )


def _read(batch: Batch[int, _Item, None], resources: Sequence[Any]) -> None:
    """Find the subscriptions and what to do with each; reject what is malformed."""
    names = [subscription_named(batch.view, one.resource_name) for one in paced(resources)]
    counts = Counter(name for name in names if not isinstance(name, Denied))
    for number, (resource, name) in enumerate(zip(paced(resources), names, strict=True)):
        if isinstance(name, Denied):
            batch.answer(number, name)
        elif counts[name] > 1:
            batch.answer(number, _TWICE)
        elif (why := _malformed(resource)) is not None:
            batch.answer(number, why)
        else:
            operations = tuple(
                Operation(one.name, getattr(one, "config_operation", SET), one.value)
                for one in paced(resource.configs)
            )
            batch.left[number] = _Item(name, operations)


def _malformed(resource: Any) -> Denied | None:
    """What a broker rejects before it knows the resource (ConfigAdminManager.preprocess)."""
    configs = resource.configs
    if len({one.name for one in paced(configs)}) < len(configs):
        return Denied(INVALID_REQUEST, "Error due to duplicate config keys", "request")
    null = [
        one.name
        for one in paced(configs)
        if one.value is None and getattr(one, "config_operation", SET) != DELETE
    ]
    if null:
        text = f"Null value not supported for : {', '.join(null)}"
        return Denied(INVALID_REQUEST, text, "request")
    return None


async def _change(batch: Batch[int, _Item, None], *, whole: bool, validate_only: bool) -> None:
    """Make all changes that are left, in one change of the catalog, and answer their items. Raises
    OSError."""
    context, items = batch.context, dict(batch.left)
    answers: dict[int, Denied | None] = {}

    def decide(newest: Snapshot) -> list[Change]:
        access = batch.access.on(newest)
        grown = Grown(newest.entity)
        changes: list[Change] = []
        for number, item in paced(items.items(), every=1):
            answers[number] = None
            try:
                change = _altered(access, grown, item, whole=whole)
            except Rejected as rejected:
                answers[number] = rejected.why
                continue
            if change is not None:
                changes.append(change)
                grown.add(change)
        if newest.format < METRICS_FORMAT and any(
            isinstance(one, ClientMetrics) for one in changes
        ):
            raise _NeedsFormat
        return changes

    try:
        try:
            await context.decide(decide, validate_only)
        except _NeedsFormat:
            await _raise_format(context, validate_only=validate_only)
            if not validate_only:
                await context.decide(decide, validate_only)
    except Rejected as rejected:
        batch.reject(rejected.why)
    for number, why in answers.items():
        if batch.is_open(number):
            batch.answer(number, why)


async def _raise_format(context: Context, *, validate_only: bool) -> None:
    """Let the catalog hold subscriptions, if every gateway that takes part reads them. Raises
    :class:`Rejected` and OSError."""
    try:
        if not validate_only:
            await context.catalog.change(at_least(METRICS_FORMAT))
        elif who_cannot_read(context.catalog.snapshot, METRICS_FORMAT):
            raise FormatRejected
    except FormatRejected:
        raise Rejected(
            INVALID_REQUEST,
            f"Subscriptions of client metrics need format {METRICS_FORMAT} of the catalog, which"
            " not every gateway that takes part can read; an operator upgrades those first.",
        ) from None


def _altered(access: Access, grown: Grown, item: _Item, *, whole: bool) -> Change | None:
    """The change of one subscription; None if it stays as it is. Raises :class:`Rejected`."""
    snapshot = access.view.snapshot
    reject_if(subscription_denial(access, ALTER_CONFIGS, item.namespace))
    found = snapshot.client_metrics.get(item.name)
    own = {} if found is None else dict(found.configs)
    configs = _after({} if whole else own, item.operations)
    try:
        check(item.name.rpartition(DELIMITER)[2], configs)
    except WrongConfig as error:
        raise Rejected(error.code, error.message, "names") from None
    missing = snapshot.missing_tier(item.namespace)
    if missing is not None:
        state = "is being deleted" if missing in snapshot.namespaces else "does not exist"
        shown = shown_namespace(access.view, missing)
        raise Rejected(
            INVALID_REQUEST,
            f"InvalidNamespaceException: namespace '{shown}' {state}, so it can hold no client"
            " metrics.",
        )
    if configs == own:
        return None
    if not configs:
        return Removal(key_of(ClientMetrics(item.name, own)))
    if found is None:
        _check_number(snapshot, grown, item.namespace)
    return ClientMetrics(item.name, dict(sorted(configs.items())))


def _after(own: Mapping[str, str], operations: Sequence[Operation]) -> dict[str, str]:
    """The configs after the operations, not validated (ConfigurationControlManager). Raises
    :class:`Rejected`."""
    configs = dict(own)
    for one in paced(operations):
        value = one.value or ""
        if one.operation == SET:
            configs[one.key] = value
        elif one.operation == DELETE:
            configs.pop(one.key, None)
        elif one.operation not in _OPERATIONS:
            text = f"Operation {one.operation} on config '{one.key}' is none of Kafka's."
            raise Rejected(INVALID_REQUEST, text)
        else:
            # The schema by which a broker splits lists has topics' and brokers' configs alone
            # (KafkaRaftServer.configSchema).
            what = _OPERATIONS[one.operation]
            text = f"Can't {what} to key {one.key} because its type is not LIST."
            raise Rejected(INVALID_CONFIG, text)
    return configs


def _check_number(snapshot: Snapshot, grown: Grown, namespace: str) -> None:
    """Raise :class:`Rejected` if there is no room for a further subscription."""
    for tier, most in number_limits(namespace):
        if snapshot.tally(SUBSCRIPTIONS, tier) + grown.tally(SUBSCRIPTIONS, tier) >= most:
            where = "A catalog" if tier is None else "A namespace with all below it"
            raise Rejected(
                POLICY_VIOLATION,
                f"{where} holds at most {most:,} subscriptions of client metrics; delete some.",
            )
