"""The decision of a rule on an item (a topic, a group, a resource) of a request.

A rule is a function of (request, view, catalog snapshot); it does no I/O. An item is either
resolved (forwarded, under the broker's name) or denied (with a Kafka error). If no rule has decided
on an item, it is denied.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gateway.error_codes import INVALID_TOPIC_EXCEPTION


@dataclass(frozen=True, slots=True)
class Resolved:
    """A topic that this view may reach.

    ``flat`` is the broker's name, UTF-8 without a length prefix; ``flat_legacy`` and
    ``flat_compact`` are the same name in its wire forms, prefixed with an int16 length and with an
    unsigned varint of length + 1, ready to be spliced. ``namespace`` is the tier path
    (``org:apache:kafka``; ``""`` is the default namespace), ``logical`` the full colon name.
    ``topic_id`` is the virtual topic id (16 bytes) of this name of a moved topic, or None for the
    broker's own id. ``guarantee`` is the producer guarantee, as the flags of
    ``gateway.policies.tree.Guarantee``; 0 without a guarantee. ``link``: the name is a link to the
    topic, with ACLs of its own.
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
    """An item that is rejected with ``code``, a Kafka protocol error code.

    ``message`` is a sentence for the client, in logical names only; it reaches the client where the
    response has a field for it, and the log always. ``rule`` names the rule that decided. If ACLs
    or the producer guarantee denied it, the audit log also gets the ``operation`` and the
    ``resource`` (type and logical name); if ACLs did, ``because`` names the ACL, or the lack of an
    ACL. ``right`` is the resource on which the operation would allow the item, if it is not
    ``resource``. ``illegal``: no topic can ever have this name here; most APIs treat it like any
    unknown name, some like :meth:`for_description`.
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
