"""Declarations of APIs: the names in an API's messages, their fields, and how the gateway handles
them.

``gateway.apis`` declares each API. The session, the rules and the documentation derive the handling
of an API from its declaration; nothing else in the gateway lists APIs.

The decisions for topics (or groups, for an API without topics) apply per item, by its owner:

=========  ==================================================================================
item       by name, by topic id, in "all"
=========  ==================================================================================
own        forwarded under its flat name; an id is forwarded unchanged; listed
foreign    outside the view's home: as unknown, not forwarded; not listed
unknown    in a namespace that does not exist: as unknown, not forwarded
admin      reserved names (``names.is_reserved``): as unknown, by name and by id; not listed
=========  ==================================================================================

"As unknown" is UNKNOWN_TOPIC_OR_PARTITION by name, UNKNOWN_TOPIC_ID by id, and
INVALID_TOPIC_EXCEPTION if the request would create a topic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Final

from gateway.acl_model import Operation
from gateway.rules.division import Division
from gateway.rules.tree_brokers import BrokerList
from protocol.schema import api_key_of

TOPIC_ID: Final = "topic_id"
"""The field that names a topic by id, in every message with topic ids."""

PLACEHOLDER: Final = ":"
"""A name that no topic can have. Metadata v0 requests this name to get no topics, because an empty
array requests all topics there."""

KIB: Final = 1024

LAST: Final = 2**15 - 1
"""A number above every version."""

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
    EXPAND = "forwarded for what the view lists: by name, or the rest is cut from the response"
    FILTER = "forwarded, and items outside the view are dropped from the response"
    DENY = "answered with an error"
    FORWARD = "carries no name and is forwarded"
    ANSWER = "answered by the gateway itself"
    ABSENT = "this API has no such way"


class Effect(Enum):
    """The effect of a request: it decides whether the gateway may send the request again, and how
    long the gateway waits for another cluster's response."""

    LOOKUP = "none: every client asks for it on its way to records"
    DESCRIPTION = "none: operators ask for it"
    CHANGE = "it may change something, so it is sent once"


class Waits(Enum):
    """The event that a broker may wait for before it responds. The gateway does not wait for such a
    response: it answers a waiting Fetch with an error of its fetch session, and members of a group
    name topics to each other only."""

    NEVER = "it responds when it has done what was requested"
    FOR_RECORDS = "until there are records"
    FOR_MEMBERS = "until a group is complete"


class Records(Enum):
    """The message (request or response) that holds record bytes, which the gateway streams."""

    NONE = "neither"
    REQUEST = "the request"
    RESPONSE = "the response"


class Shadows(Enum):
    """The decision for topics of other volumes (``gateway.rules.shadows``)."""

    NONE = "rejected as what is in another volume"
    NAMED = "named by their shadows; one named by id needs its shadow"
    MADE = "the same, and missing shadows are made"


@dataclass(frozen=True, slots=True)
class Needs:
    """The operations (codes of :class:`gateway.acl_model.Operation`; 0: no operation) that a
    principal needs on the topics, groups and transactional ids that a request names. They are
    Kafka's own (KafkaApis; docs: Authorization and ACLs) and the same at every version."""

    topic: int = NOTHING
    group: int = NOTHING
    transactional_id: int = NOTHING

    instead: int = NOTHING
    """An operation on the cluster: a principal that has it needs no operation on topics."""

    tells_illegal: bool = False
    """Whether an illegal topic name is INVALID_TOPIC_EXCEPTION, not an unknown topic."""

    empty_group: bool = False
    """Whether brokers serve the empty group id "for backwards compatibility", as the group of
    offsets without members (GroupCoordinatorService). Brokers reject other requests with the empty
    id. Under a home the gateway rejects them: the broker's id is then not empty."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one message, by the field names of its message classes."""

    array: str
    """The field that holds the topics."""

    name: str = "name"
    """The field of an element that holds the topic's name; empty: the elements are the names."""

    partitions: str | None = None
    """The array of a topic's partitions; None: a topic is answered as a whole."""

    index: str = ""
    """The field that holds a partition's number; empty: the elements are the numbers."""

    groups: str | None = None
    """The array of groups around the topics, each with a ``group_id`` (OffsetFetch v8+)."""


BY_PARTITION_INDEX: Final = Topics("topics", partitions="partitions", index="partition_index")
"""The fields of most messages."""


@dataclass(frozen=True, slots=True)
class TopicShape:
    """The position of topics in one API's messages, in its versions ``first`` to ``last`` (all)."""

    request: Topics
    response: Topics

    error_values: Mapping[str, object] = field(default_factory=dict)
    """The fields beside the error code, with their values."""

    error_code: str = "error_code"
    """The field of a response's partition (or topic) that holds the error code."""

    codes: Mapping[int, int] = field(default_factory=dict)
    """The code of a rejection -> the code that this API returns in its place."""

    all_or_nothing: bool = False
    """If one topic is rejected, nothing is done for the other topics."""

    one_spelling: bool = False
    """A topic's second spelling is rejected; otherwise it is answered with a copy."""

    always_asked: bool = False
    """The request is forwarded even if no topic is left in it, because the response holds more than
    topics (brokers, an error of the group)."""

    error_of_all: bool = False
    """An error of the whole response (or group) stands for all its topics."""

    asked_for_none: Callable[[int, bytes], bytes] | None = None
    """(version, body without topics) -> the request for no topics, if an empty array does not
    express that."""

    adjusted: Callable[[Any, Callable[[str], bool], Callable[[str], str]], Any] | None = None
    """(request that lost topics, whether a name is rejected, the first spelling of a name) -> the
    request without the fields that only made sense with the lost topics."""

    prepared: Callable[[int, bytes], bytes] | None = None
    """(version, body of the response) -> the body into which errors are merged."""

    merged: Callable[[Any], Any] | None = None
    """Response with its errors merged -> the response to send."""

    first: int = 0
    last: int = LAST


@dataclass(frozen=True, slots=True)
class ItemShape:
    """The position of groups, coordinator keys or config resources in one API's messages, in its
    versions ``first`` to ``last`` (all)."""

    asked: str
    """The request's array."""

    asked_by: tuple[str, ...]
    """The fields that name an element of the request's array; empty: the elements are the names."""

    answered: str
    """The response's array."""

    answered_by: tuple[str, ...]
    """The same as ``asked_by``, for the response's array."""

    error_values: Mapping[str, object] = field(default_factory=dict)
    """The fields beside an item's error code, with their values."""

    first: int = 0
    last: int = LAST


@dataclass(frozen=True, slots=True)
class ToldOperations:
    """The authorized operations in a response (KIP-430)."""

    asked_by: tuple[str, ...] = ()
    """The fields by which a request asks for the operations; empty: every response has them."""

    array: str = ""
    """The array whose elements have operations; empty: only the cluster has operations."""

    named_by: str = ""
    """The field that names an element of ``array``."""

    bits: str = ""
    """The field of an element that holds its operations."""


Translation = Callable[[Any, int, int, str], Mapping[str, object]]
"""(request, its version, another version, both versions as text) -> the fields of the request at
the other version. Raises ProtocolError if that version cannot express the request."""


def _as_it_is(request: Any, before: int, after: int, where: str) -> Mapping[str, object]:
    return {}


@dataclass(frozen=True)
class Declaration:
    """One API: its name, the versions that the gateway serves, a decision for each way of naming,
    and everything else that depends on the API. Modules outside the slices read the declaration and
    know no API by name (``tests/gateway/test_api_names.py`` lists the exceptions)."""

    name: str

    span: tuple[int, int]
    """The first and the last version."""

    named: Do

    _: KW_ONLY

    by_id: Do = Do.ABSENT

    null: Do = Do.ABSENT

    why: str = ""
    """Text for the documentation, beside the decisions for the ways of naming."""

    effect: Effect = Effect.CHANGE
    """Used only if the API's requests go to other volumes."""

    waits: Waits = Waits.NEVER

    records: Records = Records.NONE

    needs: Needs = Needs()

    topics: tuple[TopicShape, ...] = ()
    """A shape for each span of versions."""

    items: tuple[ItemShape, ...] = ()
    """A shape for each span of versions."""

    seen: tuple[tuple[str, ...], ...] = ()
    """The fields on the way to arrays of topics, in responses to requests that name no topics."""

    operations: ToldOperations | None = None

    shadows: Shadows = Shadows.NONE
    """The decision for topics of other volumes."""

    division: Division | None = None
    """How requests divide by volume in a tree, or None: they are not divided."""

    brokers: BrokerList | None = None
    """How responses list brokers; None: they list no brokers."""

    translated: Translation = _as_it_is
    """Translates a request to another version, where the two differ by more than fields."""

    translated_response: Callable[[Any, Any, Any], Any] | None = None
    """(the response with the fields of the client's version, the broker's response, the request)
    -> the complete response."""

    beside_error: Mapping[str, object] = field(default_factory=dict)
    """The values beside a response's error, for fields that are neither default nor zero then."""

    items_too: Callable[[int, int], bool] = field(default=lambda version, code: False)
    """(version, error code of the response) -> whether its items are answered all the same."""

    rejection: Callable[[int, bytes, int], bytes | None] = field(default=lambda *_: None)
    """(version, request, code) -> the body, if Kafka rejects this request in a form of its own;
    None otherwise."""

    lowest: Callable[[int], int] | None = None
    """The broker's lowest version -> the lowest version that the gateway advertises."""

    pipelined: bool = False
    """Whether a request may be forwarded while earlier requests of the same API await a response;
    every other request waits until its connection has nothing in flight."""

    small_request: int = 1 * KIB
    """Bytes: a request up to this size is decided in one go, whatever it holds; a longer request
    may take several slices (``gateway.slices``)."""

    small_response: int = 2 * KIB
    """Bytes: a response up to this size is restored in one go."""

    @cached_property
    def key(self) -> int:
        """The API key of the request header."""
        return api_key_of(f"{self.name}Request")

    @property
    def answered_here(self) -> bool:
        """Whether the gateway answers the API itself, whatever the broker serves."""
        ways = (self.named, self.by_id, self.null)
        return all(do in (Do.ANSWER, Do.ABSENT) for do in ways)

    @property
    def first(self) -> int:
        """The first version that the gateway serves."""
        return self.span[0]

    @property
    def last(self) -> int:
        """The last version that the gateway serves."""
        return self.span[1]

    @property
    def versions(self) -> range:
        """The versions that the gateway serves."""
        return range(self.first, self.last + 1)

    def versions_of(self, shape: TopicShape | ItemShape) -> range:
        """The served versions that a shape applies to."""
        return range(max(self.first, shape.first), min(self.last, shape.last) + 1)

    def topic_shape(self, version: int) -> TopicShape | None:
        """The position of topics at a version; None without an array of topics."""
        return next((s for s in self.topics if version in self.versions_of(s)), None)

    def item_shape(self, version: int) -> ItemShape | None:
        """The position of other items at a version; None without such an array."""
        return next((s for s in self.items if version in self.versions_of(s)), None)
