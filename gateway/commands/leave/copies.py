"""The part of the script that gives topics and groups plain names: copies, and
offsets in the copies."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from gateway.commands.leave.plan import LeavePlan
from gateway.commands.leave.sections import ADMIN, BY_HAND, Section, printable_ids, regex_of

MIRROR: Final = "leave-mirror.properties"
RENAMED: Final = "leave-names.sed"
ALIAS: Final = "leaving"
"""MirrorMaker's alias of the source cluster, and the prefix of the topics
that MirrorMaker makes."""


class Copies:
    """The sections about copies. ``to`` are the flags of Kafka's tools for the brokers."""

    def __init__(self, plan: LeavePlan, to: str) -> None:
        self._plan = plan
        self._to = to

    def made(self) -> Section:
        """The section that makes the new topics, and fills them."""
        plan = self._plan
        commands = []
        for topic in plan.copied:
            shape = plan.shapes.get(topic.flat)
            if shape is None:
                continue
            configs = shlex.join(
                word
                for key, value in sorted(shape.configs.items())
                for word in ("--config", f"{key}={value}")
            )
            commands.append(
                f"kafka-topics {self._to} --create --topic {topic.becomes}"
                f" --partitions {shape.partitions} --replication-factor {shape.replicas}"
                f" {configs}".rstrip()
            )
        properties = "\n".join(self._mirror_properties())
        commands.append(f"cat > {MIRROR} <<'END'\n{properties}\nEND")
        commands.append(f"connect-mirror-maker {MIRROR} &")
        notes = [
            "MirrorMaker keeps partitions, keys, values, headers and timestamps. It may run for"
            " days before the\nswitch. It copies what was committed: records of aborted"
            " transactions are left behind. It logs that\nMirrorCheckpointConnector cannot run,"
            " which is not needed."
        ]
        return Section("Copies, while the applications run", notes, commands)

    def _mirror_properties(self) -> Iterator[str]:
        plan = self._plan
        yield f"clusters = {ALIAS}, left"
        for alias in (ALIAS, "left"):
            yield f"{alias}.bootstrap.servers = {plan.servers}"
        if plan.logs_in:
            yield f"# Add the lines of {ADMIN} twice: after {ALIAS}. and after left."
        flow = f"{ALIAS}->left."
        yield f"{flow}enabled = true"
        yield f"{flow}topics = {','.join(regex_of(one.flat) for one in plan.copied)}"
        yield f"{flow}groups.exclude = .*"
        yield f"{flow}consumer.isolation.level = read_committed"
        for setting in (
            "emit.heartbeats.enabled",
            "heartbeats.replication.enabled",
            "emit.checkpoints.enabled",
            "emit.offset-syncs.enabled",
            "sync.group.offsets.enabled",
            "sync.topic.acls.enabled",
            "sync.topic.configs.enabled",
        ):
            yield f"{setting} = false"
        factor = min(3, plan.brokers)
        for setting in ("", "offset.storage.", "status.storage.", "config.storage."):
            yield f"{setting}replication.factor = {factor}"
        renamings = [*self._renamings()]
        yield f"{flow}transforms = {','.join(f'name{one}' for one in range(len(renamings)))}"
        for number, (regex, replacement) in enumerate(renamings):
            start = f"{flow}transforms.name{number}"
            yield f"{start}.type = org.apache.kafka.connect.transforms.RegexRouter"
            yield f"{start}.regex = {regex}"
            yield f"{start}.replacement = {replacement}"

    def _renamings(self) -> Iterator[tuple[str, str]]:
        """The names of the copies: for each, a regular expression of MirrorMaker's default name,
        and the new name. A single expression serves all topics that only lose a dot."""
        usual = False
        for topic in self._plan.copied:
            if topic.becomes == topic.flat.replace("..", ".", 1):
                usual = True
            else:
                yield f"{ALIAS}[.]{regex_of(topic.flat)}", topic.becomes
        if usual:
            yield f"{ALIAS}[.](.+?)[.][.](.+)", "$1.$2"

    def compared(self) -> Section:
        """The section that compares the copies and their offsets with the topics."""
        both = [name for topic in self._plan.copied for name in (topic.flat, topic.becomes)]
        pattern = "|".join(map(regex_of, both))
        notes = [
            "Stop the producers, then compare. Where a copy ends at the same offsets as its topic,"
            " and both begin\nat 0, offsets in both are the same. Where they differ (compaction,"
            " retention, transactions), let the\ngroups read to the end, and set them to the end of"
            " the copy: --reset-offsets --to-latest --topic COPY."
        ]
        return Section(
            "The last records",
            notes,
            [
                f"kafka-get-offsets {self._to} --topic {shlex.quote(pattern)} --time {time}"
                for time in ("earliest", "latest")
            ],
        )

    def groups(self) -> Section:
        """The section that carries the offsets of groups to their new names."""
        plan = self._plan
        seds = "\n".join(f's/^"?{regex_of(one.flat)}"?,/{one.becomes},/' for one in plan.copied)
        commands = [f"cat > {RENAMED} <<'END'\n{seds}\nEND"] if plan.copied else []
        rename = f" | sed -E -f {RENAMED}" if plan.copied else ""
        for number, group in enumerate(printable_ids(plan.groups), 1):
            tool = f"kafka-consumer-groups {self._to} --reset-offsets --group"
            file = f"leave-offsets-{number}.csv"
            commands += [
                f"{tool} {shlex.quote(group.stored)} --to-current --all-topics --dry-run --export"
                f"{rename} > {file}",
                f"{tool} {shlex.quote(group.becomes)} --from-file {file} --execute",
                f"kafka-consumer-groups {self._to} --describe --group {shlex.quote(group.becomes)}",
            ]
        notes = [
            "Stop the consumers, then MirrorMaker. A file has each offset as it is committed, so"
            " this is exact;\nMirrorMaker's own translation of offsets may repeat records. See that"
            " the new group is described with\nall of them: the tool ends with 0 also where it"
            " failed."
            if plan.copied
            else "Stop the consumers. A file has each offset as it is committed, so this is exact."
            " See that the new\ngroup is described with all of them: the tool ends with 0 also"
            " where it failed."
        ]
        notes += [
            f"{one.stored!r} {BY_HAND}" for one in plan.groups if not one.stored.isprintable()
        ]
        return Section("Offsets of groups", notes, commands)
