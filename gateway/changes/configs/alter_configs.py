"""AlterConfigs and IncrementalAlterConfigs (KIP-339) of topics and namespaces.

Topics are altered first, at the broker, all in one request. Then namespaces are altered, and last
topics are moved, each in the order of the request. Every resource is answered, in that order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from gateway.catalog.snapshot import Snapshot
from gateway.changes.base import admin_rights
from gateway.changes.base.context import Answered, Batch, Context, error_fields, write_response
from gateway.changes.base.rejected import Rejected, respelled, unavailable
from gateway.changes.base.resources import (
    DELETE,
    SET,
    NamespaceResource,
    Operation,
    TopicResource,
    in_logical_names,
    moved_out,
    own_home,
    relative_path,
    resource_named,
    second_spelling,
)
from gateway.changes.base.virtual_configs import (
    LINK,
    LINK_TO,
    NAMESPACE,
    PRINCIPALS,
    Move,
    Release,
    is_virtual,
    read_link_change,
    read_move,
    reject_on_namespace,
    reject_on_topic,
)
from gateway.changes.configs.alter_topics import alter_topics, replacing
from gateway.changes.configs.described_links import links_text
from gateway.changes.namespaces.namespace_configs import alter_namespace
from gateway.changes.namespaces.namespace_settings import (
    SETTINGS,
    Check,
    change_principals,
    change_settings,
    is_home_change,
    principals_of,
)
from gateway.changes.topics.links import change_links, remove_link
from gateway.changes.topics.move_topics import move_topic
from gateway.decision import Denied
from gateway.error_codes import INVALID_CONFIG, INVALID_REQUEST
from gateway.policies.judge import POLICIES
from gateway.rules.access import TOPIC_RESOURCE
from gateway.rules.item_lists import ConfigResource
from gateway.views.access import Access, link_sentence
from gateway.views.view import View
from protocol import messages
from protocol.pausing import eased, paced

_ALTER: Final = "AlterConfigs"
_INCREMENTAL: Final = "IncrementalAlterConfigs"


@dataclass(slots=True)
class _Item:
    """One resource of a request."""

    what: TopicResource | NamespaceResource
    operations: tuple[Operation, ...]
    moves: Move | Release | None = None
    """Set for a topic that is to be moved."""
    links: Operation | None = None
    """Set for a change of the topic's links, and for a link itself."""


@dataclass(slots=True, kw_only=True)
class _Batch(Batch[int, _Item, None]):
    """One request; the answer None means that the item is done."""

    whole: bool
    """Whether keys that the request does not name fall back (AlterConfigs)."""
    validate_only: bool


async def alter_configs(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """AlterConfigs: the configs in the request become the resource's own, all others fall back.

    Whole bodies in the client's names, in and out. Raises ProtocolError.
    """
    return await _alter(context, access, version, body, _ALTER)


async def incremental_alter_configs(
    context: Context, access: Access, version: int, body: bytes
) -> Answered:
    """IncrementalAlterConfigs: set, delete, append, subtract; ``gateway.namespace`` of a topic
    moves it. As :func:`alter_configs`."""
    return await _alter(context, access, version, body, _INCREMENTAL)


async def _alter(context: Context, access: Access, version: int, body: bytes, api: str) -> Answered:
    request = messages.parse(f"{api}Request", version, body)
    resources = request.resources
    batch = _Batch(
        context,
        access,
        range(len(resources)),
        spelled=lambda number: resources[number].resource_name,
        whole=api == _ALTER,
        validate_only=request.validate_only,
    )
    try:
        await batch.refresh()
    except OSError as error:
        batch.reject(unavailable(error))
    else:
        _read(batch, resources, admin_rights.configs(batch.access, api, resources))
        await _alter_topics(batch)
        for number, item in list(batch.left.items()):
            if isinstance(item.what, NamespaceResource):
                check = partial(_check_rights, batch, api, resources[number])
                batch.answer(
                    number, await _outcome(batch, _alter_namespace(batch, item.what, item, check))
                )
        for number, item in list(batch.left.items()):
            batch.answer(number, await _outcome(batch, _change_names(batch, item)))
    entries = (
        {
            **error_fields(why),
            "resource_type": resources[number].resource_type,
            "resource_name": resources[number].resource_name,
        }
        for number, why in batch.results()
    )
    return batch.answered(write_response(f"{api}Response", version, "responses", entries))


def _change_names(batch: _Batch, item: _Item) -> Awaitable[None]:
    """Move a topic, change its links, or remove a link."""
    context, access, name = batch.context, batch.access, item.what.name
    if item.links is None:
        assert item.moves is not None
        return move_topic(context, access, name, item.moves, batch.validate_only)
    if item.links.key == LINK_TO:
        return remove_link(context, access, name, batch.validate_only)
    return change_links(context, access, name, item.links, batch.validate_only)


def _read(batch: _Batch, resources: Sequence[Any], denied: Mapping[ConfigResource, Denied]) -> None:
    """Find the resources and their changes; items ``denied`` by ACLs get their answers."""
    view = batch.view
    firsts: dict[tuple[type, str], tuple[int, _Item]] = {}
    for number, resource in enumerate(paced(resources)):
        operations = tuple(
            Operation(config.name, getattr(config, "config_operation", SET), config.value)
            for config in paced(resource.configs)
        )
        forbidden = denied.get((resource.resource_type, resource.resource_name.encode()))
        if forbidden is not None:
            batch.answer(number, forbidden)
            continue
        what = resource_named(view, resource.resource_type, resource.resource_name)
        if resource.resource_type == TOPIC_RESOURCE and view.link_named(resource.resource_name):
            _read_link(batch, number, resource.resource_name, operations)
            continue
        if isinstance(what, TopicResource):
            what = moved_out(view, what.name, what.flat) or what
        elif isinstance(what, NamespaceResource):
            what = own_home(view, what.path) or what
        if isinstance(what, Denied):
            retry = None if batch.whole else _adopted(batch.context, resource, operations)
            if retry is None:
                batch.answer(number, what)
            else:
                batch.left[number] = retry
            continue
        item = batch.left[number] = _Item(what, operations)
        key = what.flat if isinstance(what, TopicResource) else what.path
        first, earlier = firsts.setdefault((type(what), key), (number, item))
        if earlier is item:
            if isinstance(what, TopicResource):
                _read_topic(batch, number, item, what)
        elif earlier.operations == operations and earlier.what.name != what.name:
            batch.twins[number] = first
            del batch.left[number]
        else:
            batch.answer(number, second_spelling(earlier.what.name))


def _read_link(batch: _Batch, number: int, name: str, operations: tuple[Operation, ...]) -> None:
    """Read the change of a link, dangling or not: a link can be removed, but not altered."""
    try:
        one = None if batch.whole else read_link_change(operations)
    except Rejected as rejected:
        batch.answer(number, rejected.why)
        return
    if one is None or one.key != LINK_TO:
        batch.answer(number, Denied(INVALID_REQUEST, link_sentence(name), "link"))
        return
    batch.left[number] = _Item(TopicResource(name, ""), operations, links=one)


def _adopted(context: Context, resource: Any, operations: tuple[Operation, ...]) -> _Item | None:
    """The move of a topic whose name is unknown now: an earlier request may have moved it."""
    if resource.resource_type != TOPIC_RESOURCE:
        return None
    try:
        moves = read_move(operations, context.clock())
    except Rejected:
        return None
    if not isinstance(moves, Move):
        return None
    return _Item(TopicResource(resource.resource_name, ""), operations, moves)


def _read_topic(batch: _Batch, number: int, item: _Item, topic: TopicResource) -> None:
    view = batch.view
    try:
        if not batch.whole:
            item.links = read_link_change(item.operations)
            if item.links is None:
                item.moves = read_move(item.operations, batch.context.clock())
            elif item.links.key == LINK_TO:
                raise Rejected(INVALID_CONFIG, f"Topic '{topic.name}' is no link.")
            return
        links = links_text(batch.access, topic.flat)
        present = relative_path(view, view.snapshot.owner(topic.flat).namespace)
        for one in eased(item.operations):
            # Tools that write back the described configs send these, too, and change nothing by
            # them.
            same = {NAMESPACE: present, LINK: links}
            if is_virtual(one.key) and (one.key not in same or one.value != same[one.key]):
                raise reject_on_topic(one.key)
        item.operations = tuple(one for one in eased(item.operations) if not is_virtual(one.key))
    except Rejected as rejected:
        batch.answer(number, rejected.why)


async def _alter_topics(batch: _Batch) -> None:
    """Alter the topics that are not moved, all in one request."""
    topics = {
        item.what.flat: (number, item)
        for number, item in batch.left.items()
        if isinstance(item.what, TopicResource) and item.moves is None and item.links is None
    }
    if not topics:
        return
    answers: Mapping[str, Denied | None]
    try:
        operations: Mapping[str, Sequence[Operation]]
        if batch.whole:
            given = {
                flat: {one.key: one.value for one in eased(item.operations)}
                for flat, (_, item) in topics.items()
            }
            operations = await replacing(batch.context, given)
        else:
            operations = {flat: item.operations for flat, (_, item) in topics.items()}
        answers = await alter_topics(
            batch.context,
            operations,
            batch.validate_only,
            batch.access.principal,
            lambda flats: _why_not_now(
                batch, {flat: item.what.name for flat, (_, item) in topics.items() if flat in flats}
            ),
        )
    except OSError as error:
        answers = dict.fromkeys(topics, unavailable(error))
    except Rejected as rejected:
        answers = dict.fromkeys(topics, rejected.why)
    for flat, (number, item) in paced(topics.items()):
        why = answers.get(flat)
        if why is not None and why.rule == POLICIES:
            why = respelled(why, str(batch.view.snapshot.owner(flat)), item.what.name)
        elif why is not None:
            why = in_logical_names(batch.access, why, TopicResource(item.what.name, flat))
        batch.answer(number, why)


def _why_not_now(batch: _Batch, names: Mapping[str, str]) -> Mapping[str, Denied]:
    """Why topics may not be altered any more. ``names``: flat name to the client's name."""
    denied = batch.why_not_now(admin_rights.ALTER_CONFIGS, names)
    view = View(batch.view.settings, batch.context.catalog.snapshot)
    out = {flat: moved_out(view, name, flat) for flat, name in names.items()}
    return {flat: why for flat, why in out.items() if why is not None} | denied


def _check_rights(batch: _Batch, api: str, resource: Any, newest: Snapshot) -> None:
    """Raise :class:`Rejected` if the client may not alter a resource on this state of the
    catalog."""
    access = batch.access.on(newest)
    for why in admin_rights.configs(access, api, [resource]).values():
        raise Rejected.of(why)


async def _alter_namespace(
    batch: _Batch, namespace: NamespaceResource, item: _Item, check: Check
) -> None:
    if not namespace.path:
        raise Rejected(INVALID_REQUEST, "The default namespace has no configs of its own.")
    if not batch.whole and is_home_change(item.operations):
        (one,) = item.operations
        await change_principals(
            batch.context, batch.view, namespace.path, one, batch.validate_only, check
        )
        return
    # Tools that write back the described configs send this, too, and change nothing by it.
    present = Operation(PRINCIPALS, SET, principals_of(batch.view.snapshot, namespace.path))
    if batch.whole:
        item.operations = tuple(one for one in eased(item.operations) if one != present)
    settings = [one for one in eased(item.operations) if one.key in SETTINGS]
    item.operations = tuple(one for one in eased(item.operations) if one.key not in SETTINGS)
    found = batch.view.snapshot.namespaces.get(namespace.path)
    if batch.whole and found is not None:
        given = {one.key for one in settings}
        settings += [Operation(key, DELETE) for key in found.settings if key not in given]
    for one in eased(item.operations):
        if is_virtual(one.key):
            raise reject_on_namespace(one.key)
    # Settings are validated before anything is done.
    await change_settings(batch.context, namespace.path, settings, validate_only=True)

    def operations(own: Mapping[str, str]) -> Sequence[Operation]:
        if not batch.whole:
            return item.operations
        given = {one.key for one in eased(item.operations)}
        return [*item.operations, *(Operation(key, DELETE) for key in own if key not in given)]

    if item.operations or batch.whole or not settings:
        await alter_namespace(
            batch.context, namespace.path, operations, batch.validate_only, batch.access, check
        )
    if settings and not batch.validate_only:
        await change_settings(batch.context, namespace.path, settings, check=check)


async def _outcome(batch: _Batch, done: Awaitable[None]) -> Denied | None:
    try:
        await done
    except Rejected as rejected:
        return in_logical_names(batch.access, rejected.why)
    except OSError as error:
        return unavailable(error)
    return None
