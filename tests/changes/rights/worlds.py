"""Worlds in which a delegate changes names and ACLs: namespaces, topics, links, aliases, groups,
transactional ids and ACLs, on a broker and a catalog in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gateway.acls.authorizer import Authorizer
from gateway.acls.standard import StandardAuthorizer
from gateway.catalog.entities import CatalogFormat
from gateway.catalog.log.records import FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.changes.jobs.background import Housekeeping
from gateway.changes.jobs.group_removal import GroupRemoval
from gateway.changes.jobs.job_runner import Job
from gateway.changes.jobs.namespace_deletion import NamespaceDeletion
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.view import View, ViewSettings
from protocol import messages
from protocol.messages import Request, element_class, make
from protocol.schema import api_key_of, response_name
from tests.changes.acl_requests import ADMIN, entities
from tests.changes.fakes import World

DELEGATE = "User:bob"
HOME_HOST = "10.0.0.7"
"""The host that the delegate's requests come from."""

PRINCIPALS = (DELEGATE, "User:eve", "User:ann")
HOSTS = (HOME_HOST, "10.0.0.8")
SETTINGS = ViewSettings("test", "colon", "", False)

Step = tuple[str, ...]
"""A request of the delegate, or of an administrator who sets a world up: its kind, then names."""


@dataclass(frozen=True)
class Plan:
    """A world before anything changes. ``topics``, ``groups`` and ``ids`` are names at the broker;
    an administrator makes the steps of ``setup`` before there are ACLs. ``allow_everyone`` is
    ``allow.everyone.if.no.acl.found``."""

    namespaces: tuple[str, ...]
    topics: tuple[str, ...]
    acls: tuple[str, ...]
    groups: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    setup: tuple[Step, ...] = ()
    allow_everyone: bool = False


@dataclass(frozen=True)
class State:
    """The state of the catalog and the broker at one moment: topics with their broker's ids."""

    snapshot: Snapshot
    topics: dict[str, bytes]
    groups: frozenset[str]
    ids: frozenset[str]
    allow_everyone: bool


class RightsWorld:
    """A gateway with an authorizer, its background jobs, and a broker with groups."""

    def __init__(self, plan: Plan) -> None:
        self.world = World(plan.namespaces)
        self.world.log.append([CatalogFormat(FORMAT)])
        self.world.broker.make(*plan.topics)
        self.groups, self.ids = list(plan.groups), list(plan.ids)
        # If a change looks for the ids that a namespace captures, the broker of the fakes lists
        # them.
        for name, held in (("groups", self.groups), ("ids", self.ids)):
            setattr(self.world.broker, name, held)
        self.gateway = self.world.gateway()
        self._allow_everyone = plan.allow_everyone
        self._authorizer: Authorizer = authorizer(plan.allow_everyone)
        self.gateway.catalog.subscribe(self._see)
        self._see()
        removal = GroupRemoval(lambda: [("10.0.0.1", 9092)], self._ask_coordinator)
        context = self.gateway.context
        self._jobs: tuple[Job, ...] = (NamespaceDeletion(context, removal), Housekeeping(context))

    def add_acls(self, texts: Iterable[str]) -> None:
        """Add ACLs that exist before the delegate begins."""
        self.world.log.append(entities(texts))

    def use(self, authorizer: Authorizer) -> None:
        """Let another authorizer decide from now on."""
        self._authorizer = authorizer
        self._see()

    def access(self, principal: str) -> AuthorizedAccess:
        """The rights of a request that comes now."""
        view = self.gateway.view()
        return AuthorizedAccess(view, principal, HOME_HOST, self._authorizer)

    def state(self) -> State:
        """The whole state that rights depend on."""
        topics = {flat: topic.topic_id for flat, topic in self.world.broker.topics.items()}
        groups, ids = frozenset(self.groups), frozenset(self.ids)
        return State(self.world.snapshot, topics, groups, ids, self._allow_everyone)

    def _see(self) -> None:
        self._authorizer.follow(self.world.snapshot)

    async def run_jobs(self) -> None:
        """Run all background jobs until none has a task, letting the time pass that they wait for.
        Raises AssertionError if they do not come to an end."""
        for _ in range(50):
            tasks = [(job, t) for job in self._jobs for t in job.tasks(self.world.snapshot)]
            if not tasks:
                return
            for job, task in tasks:
                self.world.clock.forward(seconds=await job.run(task) or 0)
        raise AssertionError("the background jobs do not come to an end")

    async def _ask_coordinator(self, address: tuple[str, int], request: Request) -> Any:
        cls = messages.message_class(response_name(api_key_of(request.name)), request.at_most)
        entity = request.entity(request.at_most)
        if request.name == "ListGroupsRequest":
            group = element_class(cls, "groups")
            listed = tuple(make(group, {"group_id": one}) for one in self.groups)
            return make(cls, {"error_code": 0, "groups": listed})
        result = element_class(cls, "results")
        for one in entity.groups_names:
            self.groups.remove(one)
        deleted = tuple(make(result, {"group_id": one}) for one in entity.groups_names)
        return make(cls, {"results": deleted})


def authorizer(allow_everyone: bool) -> StandardAuthorizer:
    """The product's authorizer, which has seen no catalog yet; the administrator is a super
    user."""
    made = StandardAuthorizer()
    settings = {"super.users": (ADMIN,), "allow.everyone.if.no.acl.found": allow_everyone}
    made.configure(settings, lambda: None)
    return made


class Rights:
    """Rights in a state, by the product's authorizer and views; if ``snapshot`` is given, with the
    ACLs of that catalog instead."""

    def __init__(self, state: State, snapshot: Snapshot | None = None) -> None:
        self.snapshot = snapshot or state.snapshot
        self.view = View(SETTINGS, self.snapshot)
        self._authorizer = authorizer(state.allow_everyone)
        self._authorizer.see(self.snapshot)
        self._accesses: dict[tuple[str, str], AuthorizedAccess] = {}

    def access(self, principal: str, host: str) -> AuthorizedAccess:
        """The rights of a principal at a host."""
        found = self._accesses.get((principal, host))
        if found is None:
            found = AuthorizedAccess(self.view, principal, host, self._authorizer)
            self._accesses[principal, host] = found
        return found
