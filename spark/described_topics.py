"""What ``kafka-topics --describe`` prints, as far as it says what acks=all is worth.

The traffic log tells what producers ask for, and not what topics give: a topic whose
``min.insync.replicas`` is 1 acknowledges a record of acks=all when its leader alone has it, if the
other replicas are behind just then.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from spark.sources import SourceError

# One line a topic begins with its name and ends with its configs; those of partitions are indented.
_TOPIC: Final = re.compile(r"^Topic: *(\S+)\s.*ReplicationFactor: *(\d+)\s+Configs:(.*)$")
_MINIMUM: Final = re.compile(r"(?:^|[\s,])min\.insync\.replicas=(\d+)(?:,|$)")
_DEFAULT: Final = 1
"""Kafka's own: the tool leaves out what nobody has set, at the topic or at the brokers."""


def hollow_topics(path: Path) -> dict[str, bool]:
    """By topic, in the spelling of the file, whether one replica is enough for acks=all.

    Raises SourceError for a file that cannot be read, or has no topic in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path} cannot be read: {error}") from None
    found = {}
    for line in text.splitlines():
        topic = _TOPIC.match(line)
        if topic:
            minimum = _MINIMUM.search(topic[3].strip())
            found[topic[1]] = (int(minimum[1]) if minimum else _DEFAULT) <= 1
    if not found:
        raise SourceError(f"{path} has no topic: it has to be what kafka-topics --describe prints")
    return found
