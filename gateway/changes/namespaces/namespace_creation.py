"""One namespace of a CreateTopics request: validated by the broker, then committed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from gateway.catalog.entities import Change
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import read_dynamic, validate
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused, called, refuse_if, shown_topic, try_again
from gateway.changes.base.usage import LISTING_HOLDS
from gateway.changes.base.virtual_configs import read_adopt
from gateway.changes.inheritance.namespace_configs import split_virtual
from gateway.changes.judging.judged_configs import refused_namespace
from gateway.changes.judging.judged_moves import Arrival, check_growth, check_limits, judge
from gateway.changes.namespaces.create_namespaces import (
    NewNamespace,
    adopted_name,
    captured_by,
    check_capture,
    check_tiers,
    decide,
    shown,
)
from gateway.changes.namespaces.namespace_settings import is_setting, read_setting
from gateway.error_codes import INVALID_CONFIG
from gateway.views.access import Access
from gateway.views.view import View


async def create_namespace(
    context: Context, access: Access, path: str, asked: Any, *, validate_only: bool
) -> dict[str, str]:
    """Make the namespace at ``path``, and every missing tier above it, in one decision.

    ``asked`` is the topic of the request that denotes it, whose configs become the namespace's
    own; they are returned. Policies have a say in these, and in topics that are adopted. Raises
    :class:`Refused`, and OSError when the catalog or the cluster is away.
    """
    settings = access.view.settings
    view = View(settings, context.catalog.snapshot)
    tiers = check_tiers(view, path)
    configs, own_settings, adopt = _configs(asked)
    if configs:
        inherited = view.snapshot.effective_configs(path)
        values = {key: value for key, (value, _) in inherited.items()}
        refuse_if(await validate(context, values | configs))
        why = await refused_namespace(context, access.principal, path, configs)
        refuse_if(why and called(why, path, shown(view, path)))
    counted_at = context.clock()
    await context.cluster.refresh()
    index = context.cluster.index
    listed = index.version
    captured = captured_by(view.snapshot, tiers, list(index.names()))
    keys: dict[str, tuple[str, ...]] = dict.fromkeys(captured, ())
    if adopt and captured:
        dynamic = await read_dynamic(context, captured)
        keys = {flat: tuple(set_there) for flat, set_there in dynamic.items()}
    creation = NewNamespace(path, configs, own_settings, keys, adopt, context.clock())
    arriving = await _judged(context, access.over(view), tiers, creation)

    def made(snapshot: Snapshot) -> Sequence[Change]:
        if context.clock() - counted_at > LISTING_HOLDS:
            raise Refused.of(try_again("It took too long until the namespace could be created"))
        newest = View(settings, snapshot)
        if index.version != listed:
            check_capture(newest, creation, list(index.names()))
        changes = decide(access.over(newest), creation)
        check_growth(snapshot, arriving)
        check_limits(context, access.principal, snapshot, arriving, counted_at)
        return changes

    await context.decide(made, validate_only)
    return configs | own_settings


async def _judged(
    context: Context, access: Access, tiers: Collection[str], creation: NewNamespace
) -> list[tuple[Arrival, int]]:
    """The topics that are adopted, with their partitions; policies allow them. Raises
    :class:`Refused`."""
    if not (creation.adopt and creation.captured and context.judge.policies.judges):
        return []
    decide(access, creation)  # what cannot be needs no policy to say so
    # They are adopted as they are: what the namespace sets has not reached them.
    names = {flat: adopted_name(access, tiers, flat) for flat in creation.captured}
    arrivals = [
        Arrival(flat, name, {}, shown_topic(access.view, name)) for flat, name in names.items()
    ]
    facts = await judge(context, access.principal, access.view.snapshot, arrivals)
    return [(one, len(facts[one.flat].replicas) if one.flat in facts else 0) for one in arrivals]


def _configs(asked: Any) -> tuple[dict[str, str], dict[str, str], bool]:
    """The namespace's own configs and settings, and whether topics are to be adopted."""
    broker, virtual = split_virtual({config.name: config.value for config in asked.configs})
    configs: dict[str, str] = {}
    for key, value in broker.items():
        if value is None:
            raise Refused(INVALID_CONFIG, f"Config '{key}' has no value.")
        configs[key] = value
    settings = {
        key: read_setting(key, virtual.pop(key)) for key in list(virtual) if is_setting(key)
    }
    return configs, settings, read_adopt(virtual)
