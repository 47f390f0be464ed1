"""The gateway's processes, as the operating system sees them."""

from __future__ import annotations

import psutil

from devkit.gateway_process import GatewayProcess


def workers(gateway: GatewayProcess) -> list[psutil.Process]:
    """The worker processes, which the supervisor has started."""
    supervisor = psutil.Process(gateway.process.command_pid)
    return [child for child in supervisor.children() if _runs(child)]


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:  # it ended after it was listed
        return False


def memory(gateway: GatewayProcess) -> int:
    """Resident bytes of the supervisor and its workers."""
    supervisor = psutil.Process(gateway.process.command_pid)
    return sum(process.memory_info().rss for process in [supervisor, *workers(gateway)])
