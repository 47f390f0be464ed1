"""The decision of a rule on one item (a topic, a group, a resource) of one request.

A rule is a function of (request, view, catalog snapshot); it does no I/O. An item is either
resolved (forwarded, under the name the broker knows) or denied (with a Kafka error). An item that
no rule has decided on is denied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gateway.error_codes import INVALID_TOPIC_EXCEPTION


@dataclass(frozen=True, slots=True)
class Resolved:
    """A topic this view may reach.

    ``flat`` is the broker's name, UTF-8 without a length prefix; ``flat_legacy`` and
    ``flat_compact`` are the same name as it stands on the wire, prefixed with an int16 length
    and with an unsigned varint of length + 1, ready to be spliced. ``namespace`` is the tier
    path (``org:apache:kafka``; ``""`` is the default namespace), ``logical`` the full colon name.
    ``topic_id`` is the virtual topic id (16 bytes) that goes with this name of a moved topic;
    None: the broker's own. ``guarantee`` is the producer guarantee, as the flags of
    ``gateway.policies.tree.Guarantee``; 0: none. ``link``: the name is a link to the topic, with
    ACLs of its own.
    """

    namespace: str
    logical: str
    flat: bytes
    flat_legacy: bytes
    flat_compact: bytes
    topic_id: bytes | None = None
    guarantee: int = 0
    link: bool = False


@dataclass(frozen=True, slots=True)
class Denied:
    """An item that is answered with ``code``, a Kafka protocol error code.

    ``message`` is a sentence for the client, in logical names only; it reaches the client where
    the response has a field for it, and the log always. ``rule`` names the rule that decided.
    A denial by ACLs or by the producer guarantee also has, for the audit log, the ``operation`` and
    the ``resource`` (type and logical name), and one by ACLs ``because`` of which ACL, or for want
    of one, it was denied. ``right`` is the resource on which the operation would allow the item,
    where on ``resource`` it would not.
    ``illegal``: no topic can ever have this name here; most APIs treat it as any other unknown
    name, and some as :meth:`for_description` does.
    """

    code: int
    message: str
    rule: str
    operation: str = ""
    resource: str = ""
    because: str = ""
    illegal: bool = False
    right: str = ""

    def for_description(self) -> Denied:
        """The denial for APIs that describe or configure topics: INVALID_TOPIC_EXCEPTION for an
        illegal name (KRaftMetadataCache, ConfigHelper), which clients do not retry."""
        return replace(self, code=INVALID_TOPIC_EXCEPTION) if self.illegal else self
