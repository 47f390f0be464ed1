"""Policy classes for tests, and blocks that name them. Topic names tell them what to do."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, ClassVar

from gateway.config.policies import PolicySettings
from gateway.policies.instance import KEY
from gateway.policies.interface import CreateTopicPolicy, PolicyViolation, RequestMetadata
from gateway.policies.tree import Placed, Policies

TIMEOUT = "create.topic.policy.timeout.ms"


class Unspeakable(Exception):
    """An error that reveals nothing: even its parts for a traceback raise errors."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    @property
    def __notes__(self) -> list[str]:  # type: ignore[override]
        raise RuntimeError("no notes")


class UnspeakableViolation(PolicyViolation):
    """A violation whose text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Obliging(CreateTopicPolicy):
    """Does as the topic's name says. ``made`` are all instances; ``let_go`` ends stuck calls."""

    made: ClassVar[list[Obliging]] = []
    let_go: ClassVar[threading.Event] = threading.Event()

    def __init__(self) -> None:
        self.did: list[str] = []
        self.configs: Mapping[str, str | None] = {}
        self.made.append(self)

    def configure(self, configs: Mapping[str, str | None]) -> None:
        self.did.append("configure")
        self.configs = configs
        if configs.get("raise"):
            raise ValueError(configs["raise"])
        if "stick" in configs:
            self.let_go.wait()

    def validate(self, request_metadata: RequestMetadata) -> None:
        what, _, message = request_metadata.topic.partition(" ")
        self.did.append(what)
        if what == "violate":
            raise PolicyViolation(message)
        if what == "raise":
            raise RuntimeError(message)
        if what == "unspeakable":
            raise Unspeakable
        if what == "object":
            raise UnspeakableViolation
        if what == "exit":
            raise SystemExit(3)
        if what == "stick":
            self.let_go.wait()
        if what == "false":
            return False  # type: ignore[return-value]
        return None

    def close(self) -> None:
        self.did.append("close")


class Unclosable(Obliging):
    """Raises when it is closed."""

    def close(self) -> None:
        super().close()
        raise OSError("no")


def name(cls: type) -> str:
    """The name of a class in the configuration."""
    return f"{cls.__module__}:{cls.__qualname__}"


OBLIGING = name(Obliging)


def block(cls: type = Obliging, **more: Any) -> dict[str, Any]:
    """A block that names a class, with as much time as it needs."""
    return {KEY: name(cls), TIMEOUT: 30_000, **more}


def policies(**blocks: Any) -> Policies:
    """The policies of ``everywhere``, ``default_namespace`` and ``namespaces``."""
    return Policies(PolicySettings.model_validate(blocks))


def placed(cls: type = Obliging, **more: Any) -> Placed:
    """A block of the namespace ``org`` that names a class, if it is set."""
    (found,) = policies(namespaces={"org": block(cls, **more)}).of("org")
    return found


def topic(text: str, namespace: str = "org") -> RequestMetadata:
    """The metadata of a request."""
    return RequestMetadata(text, 1, 1, namespace=namespace)


def forget() -> None:
    """Begin afresh."""
    Obliging.let_go.set()
    Obliging.made.clear()
    Obliging.let_go = threading.Event()
