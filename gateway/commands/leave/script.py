"""The plan as a script: commands of Kafka's own tools, in order, with the reasons as comments.

The script runs in a POSIX shell as it is, section by section; commands that delete are comments.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from typing import Final

from gateway.acl_model import WILDCARD, AclBinding, PatternType, Permission, ResourceType
from gateway.commands.leave.copies import ALIAS, Copies
from gateway.commands.leave.names import LeftId, LeftTopic
from gateway.commands.leave.plan import LeavePlan
from gateway.commands.leave.sections import (
    ADMIN,
    BY_HAND,
    Section,
    operation_text,
    regex_of,
    renamed_ids,
)
from gateway.commands.output import counted, table
from gateway.mirror_maker import HEARTBEATS

_MOST_ITERATIONS: Final = 16_384
"""The most iterations that brokers accept (ScramMechanism.maxIterations)."""

_FLAGS: Final = {
    ResourceType.TOPIC: "--topic",
    ResourceType.GROUP: "--group",
    ResourceType.TRANSACTIONAL_ID: "--transactional-id",
    ResourceType.DELEGATION_TOKEN: "--delegation-token",
    ResourceType.USER: "--user-principal",
}


class Script:
    """The sections of a plan."""

    def __init__(self, plan: LeavePlan) -> None:
        self._plan = plan
        login = f" --command-config {ADMIN}" if plan.logs_in else ""
        self._to = f"--bootstrap-server {plan.servers}{login}"

    def sections(self) -> list[Section]:
        """The sections, in the order in which they are to be run."""
        plan = self._plan
        copies = Copies(plan, self._to)
        found = [self._names(), self._users(), self._acls()]
        if plan.copied:
            found += [copies.made(), copies.compared()]
        if plan.plain and plan.groups:
            found.append(copies.groups())
        return [*found, self._switch(), *self._deletions()]

    def text(self) -> str:
        """The text of the whole script."""
        plan = self._plan
        lines = [
            f"# Leaving the gateways of cluster '{plan.cluster}' for its brokers, {plan.servers}."
            f" Catalog version {plan.version:,}; this plan has changed nothing.",
        ]
        if plan.logs_in:
            lines.append(f"# {ADMIN} is the login of an administrator of the brokers.")
        for number, section in enumerate(self.sections(), 1):
            lines += ["", *section.lines(number)]
        return "\n".join(lines)

    # -- names -------------------------------------------------------------------------------------

    def _names(self) -> Section:
        plan = self._plan
        notes = []
        rows: list[tuple[str, ...]]
        if plan.topics:
            rows = [("topic", "at the brokers", "becomes", "")]
            rows += [(str(one.name), one.flat, one.becomes, _why_kept(one)) for one in plan.topics]
            notes.append(table(rows))
        for heading, ids in (("group", plan.groups), ("transactional id", plan.ids)):
            if ids:
                rows = [(heading, "home", "at the brokers", "becomes", "")]
                rows += [
                    (one.name, one.namespace, one.stored, one.becomes, _why_kept(one))
                    for one in ids
                ]
                notes.append(table(rows))
        notes += self._about_names()
        return Section("Names of topics and groups", notes)

    def _about_names(self) -> Iterator[str]:
        plan = self._plan
        if not plan.topics and not plan.groups and not plan.ids:
            yield "All topics and groups have the names at the brokers that clients use already."
        elif not plan.plain:
            yield (
                "All of these names are the brokers' own already: clients that use them there read"
                " and write\nthe same topics from the same offsets. Nothing is copied. For names"
                " without namespaces: --names plain."
            )
        else:
            yield (
                "Brokers cannot rename: a topic that gets another name is a new topic and a copy."
                " To copy nothing,\nkeep the flat names: --names flat."
            )
        for topic in plan.topics:
            names = sorted({*map(str, topic.aliases), *map(str, topic.links)} - {topic.becomes})
            if names:
                yield f"{topic.flat} has other names here, which end: {', '.join(names)}"
        if plan.shadows:
            yield (
                "Groups keep offsets of topics in other clusters, under"
                f" {counted(len(plan.shadows), 'shadow')}. A client of the brokers\nreads one"
                " cluster, so such a group becomes one for each. Set its offsets there by hand."
            )

    # -- users and ACLs ----------------------------------------------------------------------------

    def _users(self) -> Section:
        plan = self._plan
        notes, commands = [], []
        if plan.users:
            notes.append(
                "A SCRAM credential cannot be carried: brokers take a password, or what is salted"
                " from it, and the\ncatalog has neither. Set each user's password again; clients"
                " notice nothing if it is the same one."
            )
        for number, one in enumerate(plan.users, 1):
            if not one.user.isprintable():
                notes.append(f"{one.user!r} {BY_HAND}")
                continue
            notes.append(f"PASSWORD_{number} is the password of {one.user}")
            iterations = min(one.iterations, _MOST_ITERATIONS)
            config = f"{one.mechanism}=[iterations={iterations},password=${{PASSWORD_{number}:?}}]"
            commands.append(
                f'kafka-configs {self._to} --alter --add-config "{config}"'
                f" --entity-type users --entity-name {shlex.quote(one.user)}"
            )
        if plan.plain_users:
            names = ", ".join(plan.plain_users)
            notes.append(f"Users of PLAIN are in the brokers' own configuration: {names}")
        notes.append(
            "Certificates and tokens are checked by the brokers: give them the same authorities,"
            " key sets and\nssl.principal.mapping.rules, so that principals keep their names."
        )
        return Section("Users", notes, commands)

    def _acls(self) -> Section:
        plan = self._plan
        if plan.acls is None:
            return Section("ACLs", [plan.no_acls])
        notes = []
        if plan.super_users:
            notes.append(f"super.users at the brokers: {';'.join(plan.super_users)}")
        if plan.allow_everyone:
            notes.append(
                "What allow.everyone.if.no.acl.found allows now is among these, so the brokers do"
                " not need it. Names\nmade later need ACLs of their own."
            )
        notes += [
            f"left out: {one.entry} on {one.pattern}; it would allow {why}, which the gateway"
            " does not"
            for one, why in plan.acls.left_out.items()
        ]
        notes += [f"lacking, by a DENY or for one host: {each}" for each in plan.acls.differences]
        if not plan.acls.bindings:
            notes.append("There are none.")
        plain = [one for one in plan.acls.bindings if _can_be_added(one)]
        notes += [f"{str(one)!r} {BY_HAND}" for one in plan.acls.bindings if one not in plain]
        return Section("ACLs", notes, [*self._acl_commands(plain)])

    def _acl_commands(self, bindings: Iterable[AclBinding]) -> Iterator[str]:
        together: dict[tuple[object, ...], list[AclBinding]] = {}
        for one in bindings:
            key = one.pattern, one.entry.principal, one.entry.host, one.entry.permission
            together.setdefault(key, []).append(one)
        for some in together.values():
            first = some[0]
            allow = "allow" if first.entry.permission is Permission.ALLOW else "deny"
            words = [f"--{allow}-principal", first.entry.principal]
            if first.entry.host != WILDCARD:
                words += [f"--{allow}-host", first.entry.host]
            for one in some:
                words += ["--operation", operation_text(one.entry.operation)]
            flag = _FLAGS.get(first.pattern.type)
            words += ["--cluster"] if flag is None else [flag, first.pattern.name]
            if first.pattern.pattern_type is PatternType.PREFIXED:
                words += ["--resource-pattern-type", "prefixed"]
            yield f"kafka-acls {self._to} --add {shlex.join(words)}"

    # -- the end -----------------------------------------------------------------------------------

    def _switch(self) -> Section:
        plan = self._plan
        notes = [
            f"Stop the applications, give them bootstrap.servers={plan.servers} and the names of"
            " section 1 for topics,\ngroup.id and transactional.id, and start them. Do it for all"
            " clients of a topic or group at once:\npolicies, limits and inherited configs of the"
            " gateway end for them."
        ]
        return Section("The switch", notes)

    def _deletions(self) -> Iterator[Section]:
        plan = self._plan
        old = [
            f"kafka-topics {self._to} --delete --if-exists --topic {shlex.quote(regex_of(name))}"
            for topic in plan.copied
            for name in (topic.flat, f"{ALIAS}.{topic.flat}")
        ]
        if plan.copied:
            internal = f"mm2-(configs|offsets|status)[.]{ALIAS}[.]internal"
            for name in (internal, *([] if plan.has_heartbeats else [HEARTBEATS])):
                old.append(
                    f"kafka-topics {self._to} --delete --if-exists --topic {shlex.quote(name)}"
                )
        old += [
            f"kafka-consumer-groups {self._to} --delete --group {shlex.quote(group.stored)}"
            for group in renamed_ids(plan.groups)
        ]
        if old:
            notes = ["Once nobody reads or writes the old names:"]
            yield Section("What was copied from", notes, old, deletes=True)
        notes = ["Once all gateways of the cluster are stopped for good:"]
        if plan.own_user is not None:
            notes.append(f"the brokers' user '{plan.own_user}' and its ACLs, which this lists:")
        own = [
            f"kafka-topics {self._to} --delete --topic {shlex.quote(regex_of(name))}"
            for name in (*plan.own_topics, *plan.shadows)
        ]
        if plan.own_user is not None:
            own.append(
                f"kafka-acls {self._to} --list --principal {shlex.quote('User:' + plan.own_user)}"
            )
        yield Section("What is the gateway's own", notes, own, deletes=True)


def _why_kept(one: LeftTopic | LeftId) -> str:
    return f"keeps its name: {one.kept}" if one.kept else ""


def _can_be_added(one: AclBinding) -> bool:
    """Whether a command adds exactly this ACL. kafka-acls trims principals and names, so the
    command could add the ACL for another user, or on another group."""
    texts = (one.pattern.name, one.entry.principal)
    return str(one).isprintable() and all(text == text.strip() for text in texts)
