"""AlterConfigs and IncrementalAlterConfigs (KIP-339) of topics and namespaces.

Topics are changed at the broker, in one question; then namespaces, then topics are moved, each in
the order of the request. Every resource is answered, in that order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.changes.base import admin_rights
from gateway.changes.base.batch import Answered
from gateway.changes.base.context import Context
from gateway.changes.base.refused import Refused, called, unavailable
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
    renewed,
    resource_named,
    second_spelling,
)
from gateway.changes.base.virtual_configs import (
    NAMESPACE,
    PRINCIPALS,
    Move,
    Release,
    is_virtual,
    read_move,
    refuse_on_namespace,
    refuse_on_topic,
)
from gateway.changes.configs.alter_topics import alter_topics, replacing
from gateway.changes.namespaces.alter_namespaces import alter_namespace
from gateway.changes.namespaces.home_principals import (
    change_principals,
    is_home_change,
    principals_of,
)
from gateway.changes.namespaces.namespace_settings import change_settings, is_setting
from gateway.changes.topics.move_topics import move_topic
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.policies.judge import POLICIES
from gateway.rules.access import TOPIC_RESOURCE
from gateway.rules.item_lists import ConfigResource
from gateway.rules.nested import element_class, make
from gateway.views.access import Access
from gateway.views.view import View
from protocol import messages
from protocol.pausing import eased, paced

_ALTER: Final = "AlterConfigs"
_INCREMENTAL: Final = "IncrementalAlterConfigs"


@dataclass(slots=True)
class _Item:
    """One resource of a request. ``moves`` is set for a topic that is to be moved; ``answer`` is
    None when it went well, or until it is decided. ``same_as`` was asked for the same before."""

    what: TopicResource | NamespaceResource | None
    operations: tuple[Operation, ...]
    moves: Move | Release | None = None
    answer: Denied | None = None
    same_as: _Item | None = None

    @property
    def open(self) -> bool:
        return self.answer is None and self.same_as is None

    @property
    def outcome(self) -> Denied | None:
        return self.answer if self.same_as is None else self.same_as.answer


@dataclass(frozen=True, slots=True)
class _Request:
    """A request as it is done. ``whole``: what is not named falls back (AlterConfigs)."""

    context: Context
    access: Access
    whole: bool
    validate_only: bool
    items: list[_Item] = field(default_factory=list)

    @property
    def view(self) -> View:
        return self.access.view


async def alter_configs(context: Context, access: Access, version: int, body: bytes) -> Answered:
    """AlterConfigs: the configs that are named become the resource's own, all others fall back.

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
    denied: Mapping[ConfigResource, Denied] = {}
    try:
        access = access.over(await renewed(context, access.view))
    except OSError as error:
        answers: list[Denied | None] = [unavailable(error)] * len(request.resources)
    else:
        denied = admin_rights.configs(access, api, request.resources)
        asked = _Request(context, access, api == _ALTER, request.validate_only)
        items = asked.items
        items += _items(context, access.view, request.resources, denied, whole=asked.whole)
        await _do_topics(asked)
        for item in items:
            if isinstance(item.what, NamespaceResource) and item.open:
                item.answer = await _outcome(asked, item, _namespace(asked, item.what, item))
        for item in items:
            if isinstance(item.what, TopicResource) and item.moves is not None and item.open:
                item.answer = await _outcome(asked, item, _moved(asked, item.what, item.moves))
        answers = [item.outcome for item in items]
    told = {name.decode(): why for (_, name), why in denied.items()}
    for resource, why in zip(request.resources, answers, strict=True):
        if why is not None and why.rule == POLICIES:
            told[resource.resource_name] = why
    return Answered(response(f"{api}Response", version, request.resources, answers), told)


# -- what is asked ---------------------------------------------------------------------------------


def _items(
    context: Context,
    view: View,
    resources: Sequence[Any],
    denied: Mapping[ConfigResource, Denied],
    *,
    whole: bool,
) -> list[_Item]:
    items: list[_Item] = []
    first: dict[tuple[type, str], _Item] = {}
    for resource in paced(resources):
        operations = tuple(
            Operation(config.name, getattr(config, "config_operation", SET), config.value)
            for config in paced(resource.configs)
        )
        forbidden = denied.get((resource.resource_type, resource.resource_name.encode()))
        if forbidden is not None:
            items.append(_Item(None, operations, answer=forbidden))
            continue
        what = resource_named(view, resource.resource_type, resource.resource_name)
        if isinstance(what, TopicResource):
            what = moved_out(view, what.name, what.flat) or what
        elif isinstance(what, NamespaceResource):
            what = own_home(view, what.path) or what
        if isinstance(what, Denied):
            retry = _adopted(context, resource, operations) if not whole else None
            items.append(_Item(None, operations, answer=what) if retry is None else retry)
            continue
        key = what.flat if isinstance(what, TopicResource) else what.path
        item = _Item(what, operations)
        earlier = first.setdefault((type(what), key), item)
        if earlier is not item and earlier.what is not None:
            if earlier.operations == operations and earlier.what.name != what.name:
                item.same_as = earlier
            else:
                item.answer = second_spelling(earlier.what.name)
        elif isinstance(what, TopicResource):
            _read_topic(context, view, item, what, whole)
        items.append(item)
    return items


def _adopted(context: Context, resource: Any, operations: tuple[Operation, ...]) -> _Item | None:
    """A move of a name that is unknown now may have been done by a request before this one."""
    if resource.resource_type != TOPIC_RESOURCE:
        return None
    try:
        moves = read_move(operations, context.clock())
    except Refused:
        return None
    if not isinstance(moves, Move):
        return None
    return _Item(TopicResource(resource.resource_name, ""), operations, moves)


def _read_topic(
    context: Context, view: View, item: _Item, topic: TopicResource, whole: bool
) -> None:
    try:
        if not whole:
            item.moves = read_move(item.operations, context.clock())
            return
        present = relative_path(view, view.snapshot.owner(topic.flat).namespace)
        for one in eased(item.operations):
            # Who writes back what was described sends this, too, and changes nothing by it.
            if is_virtual(one.key) and (one.key != NAMESPACE or one.value != present):
                raise refuse_on_topic(one.key)
        item.operations = tuple(one for one in eased(item.operations) if not is_virtual(one.key))
    except Refused as refused:
        item.answer = refused.why


# -- how it is done --------------------------------------------------------------------------------


async def _do_topics(asked: _Request) -> None:
    """The topics that are not moved, all at once."""
    topics = {
        item.what.flat: item
        for item in asked.items
        if isinstance(item.what, TopicResource) and item.moves is None and item.open
    }
    if not topics:
        return
    try:
        answers = await alter_topics(
            asked.context,
            await _operations(asked, topics),
            asked.validate_only,
            asked.access.principal,
        )
    except OSError as error:
        answers = dict.fromkeys(topics, unavailable(error))
    except Refused as refused:
        answers = dict.fromkeys(topics, refused.why)
    for flat, item in paced(topics.items()):
        denied = answers.get(flat)
        if denied is None or item.what is None:
            continue
        if denied.rule == POLICIES:
            name = str(asked.view.snapshot.owner(flat))
            item.answer = called(denied, name, item.what.name)
        elif isinstance(item.what, TopicResource):
            item.answer = in_logical_names(asked.view, denied, item.what)


async def _operations(
    asked: _Request, topics: Mapping[str, _Item]
) -> Mapping[str, Sequence[Operation]]:
    if not asked.whole:
        return {flat: item.operations for flat, item in topics.items()}
    given = {
        flat: {one.key: one.value for one in eased(item.operations)}
        for flat, item in topics.items()
    }
    return await replacing(asked.context, given)


async def _namespace(asked: _Request, namespace: NamespaceResource, item: _Item) -> None:
    if not namespace.path:
        raise Refused(INVALID_REQUEST, "The default namespace has no configs of its own.")
    if not asked.whole and is_home_change(item.operations):
        (one,) = item.operations
        await change_principals(asked.context, asked.view, namespace.path, one, asked.validate_only)
        return
    # Who writes back what was described sends this, too, and changes nothing by it.
    present = Operation(PRINCIPALS, SET, principals_of(asked.view.snapshot, namespace.path))
    if asked.whole:
        item.operations = tuple(one for one in eased(item.operations) if one != present)
    settings = _taken_settings(asked, namespace.path, item)
    for one in eased(item.operations):
        if is_virtual(one.key):
            raise refuse_on_namespace(one.key)
    # What is wrong with them is said before anything is done.
    await change_settings(asked.context, namespace.path, settings, validate_only=True)

    def operations(own: Mapping[str, str]) -> Sequence[Operation]:
        if not asked.whole:
            return item.operations
        given = {one.key for one in eased(item.operations)}
        return [*item.operations, *(Operation(key, DELETE) for key in own if key not in given)]

    if item.operations or asked.whole or not settings:
        await alter_namespace(
            asked.context, namespace.path, operations, asked.validate_only, asked.access
        )
    if settings and not asked.validate_only:
        await change_settings(asked.context, namespace.path, settings)


def _taken_settings(asked: _Request, path: str, item: _Item) -> list[Operation]:
    """The operations that are about settings, which are taken out of the item's; where the whole
    is given what is not named falls back."""
    settings = [one for one in eased(item.operations) if is_setting(one.key)]
    item.operations = tuple(one for one in eased(item.operations) if not is_setting(one.key))
    namespace = asked.view.snapshot.namespaces.get(path)
    if asked.whole and namespace is not None:
        given = {one.key for one in settings}
        settings += [Operation(key, DELETE) for key in namespace.settings if key not in given]
    return settings


async def _moved(asked: _Request, topic: TopicResource, moves: Move | Release) -> None:
    await move_topic(asked.context, asked.access, topic.name, moves, asked.validate_only)


async def _outcome(asked: _Request, item: _Item, done: Awaitable[None]) -> Denied | None:
    try:
        await done
    except Refused as refused:
        if refused.why.rule == "broker":
            return in_logical_names(asked.view, refused.why)
        return refused.why
    except OSError as error:
        return unavailable(error)
    return None


def response(
    name: str, version: int, resources: Sequence[Any], answers: Sequence[Denied | None]
) -> bytes:
    """The body of the response ``name``: each resource of the request with its answer, None for one
    that is done."""
    cls = messages.message_class(name, version)
    answer_class = element_class(cls, "responses")
    responses = tuple(
        make(
            answer_class,
            {
                "error_code": 0 if denied is None else denied.code,
                "error_message": None if denied is None else denied.message,
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
            },
        )
        for resource, denied in zip(resources, answers, strict=True)
    )
    return messages.write(replace(messages.build(cls), responses=responses))
