"""Declarations of APIs: which names their messages hold, where, and what is done with them.

``gateway.apis`` declares each API; the session, the rules and the documentation derive from that
what they do with it, and nothing else in the gateway lists APIs.

The ways of naming topics (or groups, for an API without topics) hold per item, by whose it is:

=========  ==================================================================================
item       by name, by topic id, in "all"
=========  ==================================================================================
own        forwarded under its flat name; an id is forwarded as it is; listed
foreign    outside the view's home: as unknown, the broker is not asked; not listed
unknown    in a namespace that does not exist: as unknown, the broker is not asked
admin      reserved names (``names.is_reserved``): as unknown, by name and by id; not listed
=========  ==================================================================================

"As unknown" is UNKNOWN_TOPIC_OR_PARTITION by name, UNKNOWN_TOPIC_ID by id and
INVALID_TOPIC_EXCEPTION where a topic would be created.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Final

from gateway.acl_model import Operation
from protocol.schema import api_key_of

TOPIC_ID: Final = "topic_id"
"""The field that names a topic by id, in every message that has one."""

PLACEHOLDER: Final = ":"
"""A name that no topic can have: Metadata v0 requests it to get no topic, as empty means all."""

KIB: Final = 1024

LAST: Final = 2**15 - 1
"""Above every version."""

NOTHING: Final = 0
"""No operation is needed."""

READ, WRITE = int(Operation.READ), int(Operation.WRITE)
ALTER, DELETE, DESCRIBE = int(Operation.ALTER), int(Operation.DELETE), int(Operation.DESCRIBE)
CLUSTER_ACTION = int(Operation.CLUSTER_ACTION)


class Do(Enum):
    """The decision for one way of naming topics (or groups, for an API without topics)."""

    REWRITE = "names are rewritten in the request and restored in the response"
    CHECK = (
        "ids are looked up, and foreign ones get an error; "
        "only the ids of moved topics are rewritten"
    )
    EXPAND = "forwarded with explicit names: those that the view lists"
    FILTER = "forwarded, and items outside the view are dropped from the response"
    DENY = "answered with an error"
    FORWARD = "carries no name and is forwarded"
    ANSWER = "answered by the gateway itself"
    ABSENT = "this API has no such way"


class Shadows(Enum):
    """The decision for topics of other volumes (``gateway.rules.shadows``)."""

    NONE = "rejected as what is in another volume"
    NAMED = "named by their shadows; one named by id needs its shadow"
    MADE = "the same, and missing shadows are made"


@dataclass(frozen=True, slots=True)
class Needs:
    """Operations (codes of :class:`gateway.acl_model.Operation`; 0: none) on the topics, groups
    and transactional ids that a request names: Kafka's own (KafkaApis; docs: Authorization and
    ACLs), which are the same at every version.
    ``instead``: a principal with this operation on the cluster needs none on topics.
    ``tells_illegal``: an illegal topic name is INVALID_TOPIC_EXCEPTION, not an unknown one."""

    topic: int = NOTHING
    group: int = NOTHING
    transactional_id: int = NOTHING
    instead: int = NOTHING
    tells_illegal: bool = False


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one message, by the field names of its message classes.

    ``array`` is the field that holds them and ``name`` the field of an element that names the
    topic; empty: the elements are the names. ``partitions`` is the array of its partitions (None:
    the API answers a topic as a whole) and ``index`` the field that holds a partition's number;
    empty: the elements are the numbers. ``groups`` is the array of groups around the topics, if
    there is one (OffsetFetch v8+, each with a ``group_id``).
    """

    array: str
    name: str = "name"
    partitions: str | None = None
    index: str = ""
    groups: str | None = None


BY_PARTITION_INDEX: Final = Topics("topics", partitions="partitions", index="partition_index")
"""The form of most messages."""


@dataclass(frozen=True, slots=True)
class TopicShape:
    """The position of topics in one API's messages, in its versions ``first`` to ``last`` (all).

    ``error_code`` is the field of a response's partition (or topic) that holds the error and
    ``error_values`` what stands beside it. ``codes`` changes the code of a rejection to what this
    API answers in its place. ``all_or_nothing``: one rejected topic means that nothing is done.
    ``one_spelling``: a topic's second spelling is rejected, not answered with a copy.
    ``always_asked``: the response holds more than topics (brokers, an error of the group), so the
    request is sent even when no topic is left in it; ``asked_for_none`` makes that request, where
    it is not one with an empty array. ``error_of_all``: an error of the whole response (or group)
    stands for all its topics. ``adjusted`` is a request that lost topics, without what only made
    sense with them: it is given the request, whether a name is rejected, and the first spelling of
    a name. ``prepared`` is a response as it is before errors are merged, ``merged`` as it is after.
    """

    request: Topics
    response: Topics
    error_values: Mapping[str, object] = field(default_factory=dict)
    error_code: str = "error_code"
    codes: Mapping[int, int] = field(default_factory=dict)
    all_or_nothing: bool = False
    one_spelling: bool = False
    always_asked: bool = False
    error_of_all: bool = False
    asked_for_none: Callable[[int, bytes], bytes] | None = None
    adjusted: Callable[[Any, Callable[[str], bool], Callable[[str], str]], Any] | None = None
    prepared: Callable[[int, bytes], bytes] | None = None
    merged: Callable[[Any], Any] | None = None
    first: int = 0
    last: int = LAST


@dataclass(frozen=True, slots=True)
class ItemShape:
    """The position of groups, coordinator keys or config resources in one API's messages, in its
    versions ``first`` to ``last`` (all).

    ``asked`` is the request's array and ``asked_by`` the fields that name one of its elements
    (none: the elements are the names); ``answered`` and ``answered_by`` are the response's.
    ``error_values`` is what stands beside the error code of an answer.
    """

    asked: str
    asked_by: tuple[str, ...]
    answered: str
    answered_by: tuple[str, ...]
    error_values: Mapping[str, object] = field(default_factory=dict)
    first: int = 0
    last: int = LAST


@dataclass(frozen=True, slots=True)
class ToldOperations:
    """The authorized operations in a response (KIP-430).

    ``asked_by`` are the fields by which a request asks for them (none: they are always told);
    they stand in the field ``bits`` of the elements of ``array``, which ``named_by`` names (empty:
    the response tells those of the cluster alone).
    """

    asked_by: tuple[str, ...] = ()
    array: str = ""
    named_by: str = ""
    bits: str = ""


@dataclass(frozen=True)
class Declaration:
    """One API: its name, its first and last version, and a decision for each way of naming.

    ``why`` says what the ways do not. ``topics`` and ``items`` have a shape for each span of
    versions; ``seen`` are the fields on the way to arrays of topics in responses to requests that
    name none. ``shadows`` is what is done with topics of other volumes. ``of_others``: names in
    subscriptions and assignments are those of any member of a group, so only those are told that
    may be described.
    ``beside_error`` is what stands beside the error of a response where that is not the field's
    default or zero. ``items_too`` tells of a version and a code whether the items are answered
    although the response has an error of its own. ``refusal`` is the body for a version, a request
    and a code where Kafka has another form for it; None: it has not. ``lowest`` is the lowest
    version that is advertised, given the broker's own.
    Requests of up to ``small_request`` bytes and responses of up to ``small_response`` are decided,
    or restored, in one go, whatever they hold; longer ones may take several slices
    (``gateway.slices``).
    """

    name: str
    span: tuple[int, int]
    named: Do
    _: KW_ONLY
    by_id: Do = Do.ABSENT
    null: Do = Do.ABSENT
    why: str = ""
    needs: Needs = Needs()
    topics: tuple[TopicShape, ...] = ()
    items: tuple[ItemShape, ...] = ()
    seen: tuple[tuple[str, ...], ...] = ()
    operations: ToldOperations | None = None
    shadows: Shadows = Shadows.NONE
    of_others: bool = False
    beside_error: Mapping[str, object] = field(default_factory=dict)
    items_too: Callable[[int, int], bool] = field(default=lambda version, code: False)
    rejection: Callable[[int, bytes, int], bytes | None] = field(default=lambda *_: None)
    lowest: Callable[[int], int] | None = None
    small_request: int = 1 * KIB
    small_response: int = 2 * KIB

    @cached_property
    def key(self) -> int:
        """The API key of the request header."""
        return api_key_of(f"{self.name}Request")

    @property
    def answered_here(self) -> bool:
        """Whether the gateway answers it itself, whatever the broker serves."""
        ways = (self.named, self.by_id, self.null)
        return all(do in (Do.ANSWER, Do.ABSENT) for do in ways)

    @property
    def first(self) -> int:
        """The first version that is served."""
        return self.span[0]

    @property
    def last(self) -> int:
        """The last version that is served."""
        return self.span[1]

    @property
    def versions(self) -> range:
        """The versions that are served."""
        return range(self.first, self.last + 1)

    def versions_of(self, shape: TopicShape | ItemShape) -> range:
        """The served versions that a shape is of."""
        return range(max(self.first, shape.first), min(self.last, shape.last) + 1)

    def topic_shape(self, version: int) -> TopicShape | None:
        """The position of topics at a version; None if no array holds topics."""
        return next((s for s in self.topics if version in self.versions_of(s)), None)

    def item_shape(self, version: int) -> ItemShape | None:
        """The position of other items at a version; None if no array holds any."""
        return next((s for s in self.items if version in self.versions_of(s)), None)
