"""Links as DescribeConfigs shows them: of a topic, of a link itself and of a namespace.

A link that the client may not describe, by the link's own ACLs, is left out. So is a link's topic
if the client may not describe the topic.
"""

from __future__ import annotations

from typing import Final

from gateway.catalog.entities import Link
from gateway.changes.topics.links import resource_of, shown_links
from gateway.names import DELIMITER, LogicalName
from gateway.topic_ids import TopicIndex
from gateway.views.access import DESCRIBE, Access
from protocol.pausing import paced

DANGLING: Final = "(deleted)"
"""Follows the topic of a link if that topic was deleted."""


def links_text(access: Access, flat: str) -> str:
    """The value of ``gateway.link``: the links of a topic, in the view's spelling; empty if the
    topic has no links."""
    shown = (access.view.spell_name(name) for name in shown_links(access, flat))
    return ",".join(name.decode() for name in shown if name is not None)


def topic_text(access: Access, link: Link) -> str:
    """The value of ``gateway.link.to``: a link's topic, or empty if the client may not describe
    it."""
    if link.gone:
        namespace, _, topic = link.gone.rpartition(DELIMITER)
        name = LogicalName(namespace, topic)
    else:
        name = access.view.snapshot.owner(link.flat)
    if access.denial(DESCRIBE, resource_of(name)) is not None:
        return ""
    shown = access.view.spell_name(name)
    if shown is None:
        # The topic's namespace may be deleted as well. A client with a home sees no names outside
        # of it.
        return "" if access.view.settings.home or not link.gone else link.gone
    return shown.decode()


def namespace_text(access: Access, path: str, index: TopicIndex) -> str:
    """The value of ``gateway.links``: ``orders=team-a:orders`` for each link in the namespace, with
    ``(deleted)`` after the topic if the topic does not exist any more."""
    found = []
    links = paced(access.view.snapshot.links.items())
    for name, link in paced(sorted(item for item in links if item[0].namespace == path)):
        if access.denial(DESCRIBE, resource_of(name)) is not None:
            continue
        leads = not link.gone and index.exists(link.flat.encode())
        found.append(f"{name.topic}={topic_text(access, link)}{'' if leads else DANGLING}")
    return ",".join(found)
