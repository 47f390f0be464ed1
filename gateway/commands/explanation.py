"""The meaning of a name in a view, layer by layer: namespace, stored name, topic, configs."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass, replace
from typing import Final, NamedTuple

from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.catalog.entities import Alias, Link, TopicEntry
from gateway.catalog.schema.yaml_values import time_text
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.config_values import is_same_value
from gateway.commands.answers import ConfigSource, source_name
from gateway.commands.errors import CommandError
from gateway.commands.topics.describe import id_text
from gateway.decision import Denied
from gateway.mirror_maker import Verdict, verdict
from gateway.names import InvalidName, LogicalName
from gateway.topic_ids import TopicIndex
from gateway.views.view import View
from protocol.schema import error_name

_ORDINARY: Final = Verdict("user", replicated=True, was_replicated=True)


def _of_broker(source: int) -> str:
    return f"broker ({source_name(source)})"


_DEFAULT: Final = _of_broker(ConfigSource.DEFAULT_CONFIG)


class ExplainedConfig(NamedTuple):
    """A config that applies, and its ``source``: ``topic``, ``namespace org``, or ``broker`` with
    Kafka's name for the broker's source."""

    key: str
    value: str
    source: str

    @property
    def is_default(self) -> bool:
        """Whether the config is set nowhere, neither here nor at the brokers."""
        return self.source == _DEFAULT


@dataclass(frozen=True, slots=True)
class Explained:
    """The explanation of a name."""

    kind: str | None
    """``topic`` or ``namespace``; None if no name can be spelled so, and ``rejection`` says why."""
    logical: str = ""
    namespace: str = ""
    missing: str | None = None
    """The outermost tier that does not exist."""
    deleting: str | None = None
    """A tier that is being deleted."""
    rejection: str | None = None
    """The error message for clients."""
    flat: str | None = None
    exists: bool = False
    topic_id: str | None = None
    entry: TopicEntry | None = None
    link: Link | None = None
    """The link, if the name is a link."""
    links: tuple[LogicalName, ...] = ()
    """The links that lead to the topic."""
    configs: tuple[ExplainedConfig, ...] = ()
    mirror_maker: Verdict | None = None

    @property
    def policies_of(self) -> str | None:
        """The namespace whose policies apply. If the name is an alias, it is the namespace that the
        topic was moved to. None if ``kind`` is None."""
        if self.kind is None:
            return None
        return self.namespace if self.entry is None else self.entry.name.namespace

    def answer(self, cluster: str) -> str:
        """The explanation as a sentence."""
        if self.kind is None:
            return f"It is no name here: {self.rejection}"
        if self.rejection is not None:
            return f"Clients cannot use {self.kind} '{self.logical}': {self.rejection}"
        if self.kind == "namespace":
            name = f"Namespace '{self.logical}'" if self.logical else "The default namespace"
            return f"{name} {'exists' if self.exists else 'does not exist'}."
        if self.flat is None:
            return f"Topic '{self.logical}' does not exist; its stored name is another topic's."
        if not self.exists:
            stored = f"it would be stored as '{self.flat}' in cluster '{cluster}'"
            return f"Topic '{self.logical}' does not exist; {stored}."
        return f"Topic '{self.logical}' is stored as '{self.flat}' in cluster '{cluster}'."

    def rows(self) -> list[tuple[str, str]]:
        """The explanation as rows of a table, a row for each fact."""
        if self.kind is None:
            return [("is", f"no name here: {self.rejection}")]
        rows = [("is", self.kind), ("logical name", self.logical)]
        if self.namespace:
            rows.append(("namespace", f"{self.namespace} ({self._namespace_state()})"))
        else:
            rows.append(("namespace", "the default one"))
        if self.kind == "topic":
            rows.append(("stored as", self.flat or "nothing: its stored name is another topic's"))
            rows.append(("topic exists", "yes" if self.exists else "no"))
        if self.topic_id is not None:
            moved = self.entry is not None and self.entry.topic_id is not None
            virtual = moved or self.link is not None
            rows.append(("topic id", f"{self.topic_id}{' (virtual)' if virtual else ''}"))
        if self.link is not None:
            rows.append(("link to", self._linked_to()))
        for alias in self._aliases():
            rows.append(("alias", f"{alias.name} until {time_text(alias.until)}"))
        rows += [("link", str(name)) for name in self.links]
        if self.mirror_maker is not None and self.mirror_maker != _ORDINARY:
            rows.append(("to MirrorMaker", str(self.mirror_maker)))
        if self.rejection is not None:
            rows.append(("clients are told", self.rejection))
        return rows

    def as_json(self) -> dict[str, object]:
        """The explanation as JSON."""
        return {
            "kind": self.kind,
            "logical_name": self.logical or None,
            "namespace": None if self.kind is None else self.namespace,
            "missing_tier": self.missing,
            "deleting_tier": self.deleting,
            "refusal": self.rejection,
            "flat_name": self.flat,
            "exists": self.exists,
            "topic_id": self.topic_id,
            "aliases": [
                {"name": str(one.name), "until": time_text(one.until)} for one in self._aliases()
            ],
            "link_to": None if self.link is None else self._linked_to(),
            "links": [str(name) for name in self.links],
            "mirror_maker": None if self.mirror_maker is None else asdict(self.mirror_maker),
            "configs": [
                {"name": one.key, "value": one.value, "source": one.source} for one in self.configs
            ],
        }

    def _linked_to(self) -> str:
        assert self.link is not None
        if self.link.gone:
            return f"{self.link.gone}, which was deleted"
        return self.link.flat if self.entry is None else str(self.entry.name)

    def _aliases(self) -> tuple[Alias, ...]:
        return () if self.entry is None else self.entry.aliases

    def _namespace_state(self) -> str:
        if self.deleting is not None:
            return f"'{self.deleting}' is being deleted"
        return "exists" if self.missing is None else f"'{self.missing}' does not exist"


async def explain_name(
    spelled: str, view: View, index: TopicIndex, admin: ClusterAdmin
) -> Explained:
    """Explain the name ``spelled`` in a view; ``index`` has the cluster's topics. Raises OSError if
    the cluster does not respond."""
    snapshot = view.snapshot
    try:
        path = view.namespace_named(spelled)
        name = LogicalName(path, "") if path is not None else view.parse(spelled)
        flat = snapshot.flat_of(name) if path is None else None
    except InvalidName as error:
        return Explained(None, rejection=str(error))
    missing = snapshot.missing_tier(name.namespace)
    explained = Explained(
        "namespace",
        logical=name.namespace,
        namespace=name.namespace,
        missing=missing,
        deleting=snapshot.deleting_tier(name.namespace),
        exists=missing is None,
        configs=() if missing is not None else _inherited(snapshot, name.namespace),
    )
    if path is not None:
        return explained
    resolved = view.resolve(spelled.encode())
    entry = snapshot.entry_of(name)
    shown = view.spell_name(name)  # as MirrorMaker finds the name in the listing
    explained = replace(
        explained,
        kind="topic",
        logical=str(name),
        flat=flat,
        entry=entry,
        link=view.link_named(spelled),
        links=() if flat is None else snapshot.links_of(flat),
        exists=False,
        mirror_maker=verdict(spelled if shown is None else shown.decode()),
    )
    if isinstance(resolved, Denied):
        return replace(explained, rejection=resolved.message, configs=())
    wire = b"" if flat is None else flat.encode()
    if flat is None or not index.exists(wire):
        return explained
    topic_id = resolved.topic_id or index.id_of(wire)
    return replace(
        explained,
        exists=True,
        topic_id=None if topic_id is None else id_text(uuid.UUID(bytes=topic_id)),
        configs=await _effective(
            flat, name if entry is None else entry.name, entry, snapshot, admin
        ),
    )


def _inherited(snapshot: Snapshot, path: str) -> tuple[ExplainedConfig, ...]:
    effective = snapshot.effective_configs(path)
    return tuple(
        ExplainedConfig(key, value, f"namespace {tier}")
        for key, (value, tier) in sorted(effective.items())
    )


async def _effective(
    flat: str, owner: LogicalName, entry: TopicEntry | None, snapshot: Snapshot, admin: ClusterAdmin
) -> tuple[ExplainedConfig, ...]:
    """The configs of a stored topic, each with the source of its value."""
    inherited = snapshot.effective_configs(owner.namespace)
    own = frozenset(() if entry is None else entry.own_configs)
    found = []
    response = await admin.ask(describe_configs([flat], None), changes=False)
    (result,) = response.results
    if int(result.error_code):
        raise CommandError(
            f"the configs of topic '{flat}' were not described by the broker: "
            f"{result.error_message or error_name(result.error_code)}; try again"
        )
    for config in result.configs:
        key, value, source = str(config.name), config.value, int(config.config_source)
        if source != ConfigSource.DYNAMIC_TOPIC_CONFIG:
            where = _of_broker(source)
        elif key not in own and is_same_value(inherited.get(key, (None, ""))[0], value):
            where = f"namespace {inherited[key][1]}"
        else:
            where = "topic"
        found.append(ExplainedConfig(key, "" if value is None else str(value), where))
    return tuple(sorted(found, key=lambda one: one.key))
