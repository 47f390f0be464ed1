"""The gateway, as ``kafka-gateway serve`` with metrics and traffic log on."""

from __future__ import annotations

from bench.targets.target import Target, TargetError, Versions, port_of
from bench.usage import with_descendants
from devkit.compiled import CompileError, compiled_path
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayError, GatewayProcess

_NAMESPACE = "team-a"
_LISTENER = Listener("bench", "every namespace")


class Gateway(Target):
    """One worker. What its clients say in Produce and Fetch depends on the versions they use.

    ``compiled``: with the hot path compiled by mypyc (devkit/compiled.py), else as it is.
    """

    def __init__(
        self, name: str, title: str, versions: Versions, *, compiled: bool = False
    ) -> None:
        self.name = f"{name}-compiled" if compiled else name
        self.title = f"{title}, compiled" if compiled else title
        self.versions = versions
        self._compiled = compiled
        self._process: GatewayProcess | None = None

    def start(self, broker: str) -> None:
        """Start it, and wait until it is ready."""
        try:
            path = compiled_path() if self._compiled else None
            self._process = GatewayProcess(broker, [_LISTENER], [_NAMESPACE], python_path=path)
            self._process.start()
        except (CompileError, GatewayError) as error:
            raise TargetError(str(error)) from error

    def stop(self) -> None:
        """End it at once, and remove its files."""
        if self._process is not None:
            self._process.close()
            self._process = None

    @property
    def port(self) -> int:
        """The listener's bootstrap port."""
        return port_of(self._running.bootstrap_servers(_LISTENER.name))

    def processes(self) -> list[int]:
        """The supervisor and its workers."""
        return with_descendants(self._running.process.command_pid)

    def topic(self, stem: str) -> str:
        """A topic in a namespace, with a colon."""
        return f"{_NAMESPACE}:{self.name}-{stem}"

    @property
    def _running(self) -> GatewayProcess:
        assert self._process is not None, "the gateway does not run"
        return self._process


def gateway_with_topic_ids(*, compiled: bool = False) -> Gateway:
    """Newest clients: Produce 13 and Fetch 13 and later carry topic ids, nothing is spliced."""
    return Gateway("gateway-ids", "gateway, topic ids", Versions(), compiled=compiled)


def gateway_with_names(*, compiled: bool = False) -> Gateway:
    """Clients of the versions before: every Produce and Fetch carries names."""
    versions = Versions(produce=12, fetch=12)
    return Gateway("gateway-names", "gateway, names", versions, compiled=compiled)
