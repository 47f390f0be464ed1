"""Auto-creation of the topics that brokers must not auto-create: topics in namespaces, and names of
the default namespace that a namespace could capture or that are subject to policies.

A topic in a Metadata request is created as by CreateTopics, with the client's rights. The request
does not wait for it: as a broker does, the gateway responds UNKNOWN_TOPIC_OR_PARTITION, and the
client retries. A namespace's setting decides whether it has auto-creation; without a setting,
``auto.create.topics.enable`` of the brokers does.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import timedelta
from time import monotonic
from typing import Any, Final

from gateway.catalog.source import ACTOR, Actor
from gateway.changes.base.context import Context
from gateway.changes.base.virtual_configs import AUTO_CREATE, NUM_PARTITIONS
from gateway.changes.topics.create_topics import create_topics
from gateway.changes.topics.former_names import FormerNames
from gateway.error_codes import TOPIC_ALREADY_EXISTS
from gateway.names import LogicalName
from gateway.policies.instance import PolicyError
from gateway.views.access import Access
from protocol import messages
from protocol.messages import element_class, make

log = logging.getLogger(__name__)

BROKERS_KEY: Final = "auto.create.topics.enable"

BROKERS_SETTING_HOLDS: Final = 60.0
"""Seconds after which the brokers' setting is queried again."""

FAILURE_HOLDS: Final = 1.0
"""Seconds for which a topic that could not be created is not tried again, even if many clients name
it ten times a second each."""

MAX_UNDER_WAY: Final = 1_000
"""Topics that are being created, or that could not be created a moment ago. Further topics are left
for the clients' retries."""

AT_ONCE: Final = 100
"""Topics in one CreateTopics request."""

_VERSION: Final = 7
_BROKERS_DEFAULT: Final = -1
_TIMEOUT: Final = timedelta(seconds=30)

BrokerConfigs = Callable[[], Awaitable[Mapping[str, str | None]]]
"""The configs of a broker. Raises OSError, and PolicyError if it does not describe them."""

Spawn = Callable[[Coroutine[Any, Any, None]], object]
"""Runs a coroutine in the background, until it ends or the worker ends."""


class AutoCreation:
    """Creates topics for the clients of one worker, on one event loop."""

    def __init__(
        self,
        context: Context,
        broker_configs: BrokerConfigs,
        spawn: Spawn,
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``clock`` returns seconds from any fixed point."""
        self._context = context
        self._broker_configs = broker_configs
        self._spawn = spawn
        self._clock = clock
        self._former = FormerNames(context.catalog, spawn, context.turns)
        self._under_way: set[LogicalName] = set()
        self._failed: dict[LogicalName, float] = {}
        self._brokers_create = False
        self._ask_brokers_at = clock()
        self._log_at = clock()

    def start(self) -> None:
        """Query the brokers' setting, so the first client need not wait for it."""
        self._do_brokers()

    def allows(self, name: LogicalName) -> bool:
        """Whether a topic of this name is auto-created. False for the default namespace, and for
        namespaces without a setting, until the brokers' setting is known."""
        setting = self._setting(name.namespace, AUTO_CREATE)
        allowed = self._do_brokers() if setting is None else setting == "true"
        return allowed and name not in self._former

    def begin(self, access: Access, actor: Actor, names: Mapping[LogicalName, str]) -> None:
        """Create topics in the background; ``names`` have the client's spellings. Topics that are
        being created already, or that could not be created just now, are left alone."""
        now = self._clock()
        self._failed = {name: until for name, until in self._failed.items() if until > now}
        room = MAX_UNDER_WAY - len(self._under_way) - len(self._failed)
        new = [name for name in names if name not in self._under_way and name not in self._failed][
            : max(0, room)
        ]
        if new:
            self._under_way.update(new)
            self._spawn(self._create(access, actor, {names[name]: name for name in new}))

    async def _create(self, access: Access, actor: Actor, names: Mapping[str, LogicalName]) -> None:
        ACTOR.set(actor)
        try:
            for start in range(0, len(names), AT_ONCE):
                body = self._request(dict(list(names.items())[start : start + AT_ONCE]))
                answered = await create_topics(self._context, access, _VERSION, body)
                response = messages.parse("CreateTopicsResponse", _VERSION, answered.body)
                for topic in response.topics:
                    self._note(names[topic.name], int(topic.error_code), topic.error_message)
        finally:
            self._under_way.difference_update(names.values())

    def _request(self, names: Mapping[str, LogicalName]) -> bytes:
        cls = messages.message_class("CreateTopicsRequest", _VERSION)
        topic = element_class(cls, "topics")
        topics: tuple[Any, ...] = tuple(
            make(
                topic,
                {
                    "name": spelled,
                    "num_partitions": int(
                        self._setting(name.namespace, NUM_PARTITIONS) or _BROKERS_DEFAULT
                    ),
                    "replication_factor": _BROKERS_DEFAULT,
                },
            )
            for spelled, name in names.items()
        )
        return messages.write(make(cls, {"topics": topics, "timeout": _TIMEOUT}))

    def _note(self, name: LogicalName, code: int, message: str | None) -> None:
        if code in (0, TOPIC_ALREADY_EXISTS):
            return
        now = self._clock()
        self._failed[name] = now + FAILURE_HOLDS
        if now >= self._log_at:
            self._log_at = now + FAILURE_HOLDS
            log.warning("topic '%s' could not be auto-created: %s", name, message)

    def _setting(self, namespace: str, key: str) -> str | None:
        found = self._context.catalog.snapshot.effective_settings(namespace).get(key)
        return None if found is None else found[0]

    def _do_brokers(self) -> bool:
        now = self._clock()
        if now >= self._ask_brokers_at:
            self._ask_brokers_at = now + BROKERS_SETTING_HOLDS
            self._spawn(self._ask_brokers())
        return self._brokers_create

    async def _ask_brokers(self) -> None:
        try:
            configs = await self._broker_configs()
        except OSError as error:
            log.warning("the brokers' auto.create.topics.enable could not be read: %s", error)
            self._ask_brokers_at = self._clock() + FAILURE_HOLDS
        except PolicyError:
            self._brokers_create = False
            log.warning(
                "topics are auto-created only in namespaces that have '%s' set: the brokers do not"
                " describe their '%s'; allow the gateway DescribeConfigs on the cluster",
                AUTO_CREATE,
                BROKERS_KEY,
            )
        else:
            self._brokers_create = configs.get(BROKERS_KEY) == "true"
