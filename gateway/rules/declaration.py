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
from gateway.rules.division import Division
from gateway.rules.tree_brokers import BrokerList
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
    EXPAND = "forwarded for what the view lists: by name, or the rest is cut from the response"
    FILTER = "forwarded, and items outside the view are dropped from the response"
    DENY = "answered with an error"
    FORWARD = "carries no name and is forwarded"
    ANSWER = "answered by the gateway itself"
    ABSENT = "this API has no such way"


class Effect(Enum):
    """The effect of a request, by which the gateway sends it once or again, and how long it waits
    for another cluster's answer."""

    LOOKUP = "none: every client asks for it on its way to records"
    DESCRIPTION = "none: operators ask for it"
    CHANGE = "it may change something, so it is sent once"


class Waits(Enum):
    """What a broker may wait for before it responds. The gateway waits for no such response: a
    Fetch that waits is answered as one of a session that is gone, and members of a group name
    topics to each other only."""

    NEVER = "it responds when it has done what was requested"
    FOR_RECORDS = "until there are records"
    FOR_MEMBERS = "until a group is complete"


class Records(Enum):
    """The message that has record bytes, which pass as a stream."""

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
    """Operations (codes of :class:`gateway.acl_model.Operation`; 0: none) on the topics, groups
    and transactional ids that a request names: Kafka's own (KafkaApis; docs: Authorization and
    ACLs), which are the same at every version.
    ``instead``: a principal with this operation on the cluster needs none on topics.
    ``tells_illegal``: an illegal topic name is INVALID_TOPIC_EXCEPTION, not an unknown one.
    ``empty_group``: brokers serve the empty group id "for backwards compatibility", as that of
    offsets without members (GroupCoordinatorService); other requests with it are rejected there,
    and under a home here, where its id at the broker is not empty."""

    topic: int = NOTHING
    group: int = NOTHING
    transactional_id: int = NOTHING
    instead: int = NOTHING
    tells_illegal: bool = False
    empty_group: bool = False


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one message, by the field names of its message classes.

    ``array`` is the field that holds them and ``name`` the field of an element that names the
    topic, or empty if the elements are the names. ``partitions`` is the array of its partitions
    (None: the API answers a topic as a whole) and ``index`` the field that holds a partition's
    number, or empty if the elements are the numbers. ``groups`` is the array of groups around the
    topics, if there is one (OffsetFetch v8+, each with a ``group_id``).
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
    request is sent even when no topic is left in it; ``asked_for_none`` makes that request, if it
    is not one with an empty array. ``error_of_all``: an error of the whole response (or group)
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


Translation = Callable[[Any, int, int, str], Mapping[str, object]]
"""(request, its version, another version, the two as text) -> fields of the request at the other
version. Raises ProtocolError if that version cannot say the same."""


def _as_it_is(request: Any, before: int, after: int, where: str) -> Mapping[str, object]:
    return {}


@dataclass(frozen=True)
class Declaration:
    """One API: its name, the versions that are served, a decision for each way of naming, and all
    else that depends on which API it is. Modules outside the slices read that, and know no API by
    name (``tests/gateway/test_api_names.py`` lists the exceptions)."""

    name: str

    span: tuple[int, int]
    """The first and the last version."""

    named: Do

    _: KW_ONLY

    by_id: Do = Do.ABSENT

    null: Do = Do.ABSENT

    why: str = ""
    """What the ways of naming do not say."""

    effect: Effect = Effect.CHANGE
    """Of an API whose requests go to other volumes; elsewhere nothing depends on it."""

    waits: Waits = Waits.NEVER

    records: Records = Records.NONE

    needs: Needs = Needs()

    topics: tuple[TopicShape, ...] = ()
    """One for each span of versions."""

    items: tuple[ItemShape, ...] = ()
    """One for each span of versions."""

    seen: tuple[tuple[str, ...], ...] = ()
    """The fields on the way to arrays of topics, in responses to requests that name none."""

    operations: ToldOperations | None = None

    shadows: Shadows = Shadows.NONE
    """What is done with topics of other volumes."""

    division: Division | None = None
    """How requests divide by volume in a tree, or None if they are not divided."""

    brokers: BrokerList | None = None
    """How brokers are listed in responses, if they are."""

    translated: Translation = _as_it_is
    """What differs by more than fields at another version of a request."""

    translated_response: Callable[[Any, Any, Any], Any] | None = None
    """(response as the client's version has its fields, the broker's response, the request) -> the
    response, complete."""

    beside_error: Mapping[str, object] = field(default_factory=dict)
    """What stands beside the error of a response if that is not the field's default or zero."""

    items_too: Callable[[int, int], bool] = field(default=lambda version, code: False)
    """Whether the items are answered although the response has an error of its own."""

    rejection: Callable[[int, bytes, int], bytes | None] = field(default=lambda *_: None)
    """(version, request, code) -> the body where Kafka has another form, or None if it has not."""

    lowest: Callable[[int], int] | None = None
    """The lowest version that is advertised, given the broker's own."""

    pipelined: bool = False
    """Whether requests may be forwarded while earlier ones of the same API have no response yet;
    every other request waits until its connection has nothing in flight."""

    small_request: int = 1 * KIB
    """Requests of up to so many bytes are decided in one go, whatever they hold; longer ones may
    take several slices (``gateway.slices``)."""

    small_response: int = 2 * KIB
    """Responses of up to so many bytes are restored in one go."""

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
