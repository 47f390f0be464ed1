"""spark.guarantees: how it reads the output of kafka-topics --describe for acks=all."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark.guarantees import hollow_topics
from spark.sources import SourceError

# As TopicCommand of Kafka 4.3.1 prints it, tabs and all.
PRINTED = (
    "Topic: org:one\tTopicId: 5yTP2yJdQ3mFxO9AU6tQkA\tPartitionCount: 1\tReplicationFactor: 3"
    "\tConfigs: min.insync.replicas=1,segment.bytes=1073741824\n"
    "\tTopic: org:one\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1\tElr: \tLastKnownElr: \n"
    "Topic: two\tTopicId: 6yTP2yJdQ3mFxO9AU6tQkA\tPartitionCount: 1\tReplicationFactor: 3"
    "\tConfigs: cleanup.policy=compact,min.insync.replicas=2\n"
    "Topic: nothing-set\tTopicId: 7yTP2yJdQ3mFxO9AU6tQkA\tPartitionCount: 1"
    "\tReplicationFactor: 1\tConfigs: \n"
    "Topic: other\tTopicId: 8yTP2yJdQ3mFxO9AU6tQkA\tPartitionCount: 1\tReplicationFactor: 3"
    "\tConfigs: x.min.insync.replicas=7,min.insync.replicas=12\n"
)


def test_topics_by_whether_one_replica_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "described.txt"
    file.write_text(PRINTED)
    assert hollow_topics(file) == {
        "org:one": True,
        "two": False,
        "nothing-set": True,
        "other": False,
    }


@pytest.mark.parametrize("content", ["", "Topic: a\n", b"\xff\xfe"])
def test_a_file_of_something_else_is_told(tmp_path: Path, content: str | bytes) -> None:
    file = tmp_path / "described.txt"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(SourceError, match=r"described\.txt"):
        hollow_topics(file)
    with pytest.raises(SourceError, match="nowhere"):
        hollow_topics(tmp_path / "nowhere")
