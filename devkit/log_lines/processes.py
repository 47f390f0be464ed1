"""Log lines of the supervisor, the workers, the HTTP port and the page."""

from __future__ import annotations

from typing import Final

from devkit.log_lines.log_line import LogLine

LINES: Final = (
    LogLine(
        "info",
        "%s",
        "nothing: the start; version and [form](cli.md#version)",
        at="processes/supervisor.py",
        shown="kafka-gateway … (…) with … workers, cluster …",
    ),
    LogLine(
        "error",
        "%s",
        "correct what it says: with `log.format: json` this is the error that `serve` ends with,"
        " which is a line without time and level otherwise",
        at="processes/command.py",
        shown="…: …; …",
    ),
    LogLine(
        "info",
        "worker %d is process %d",
        "nothing",
    ),
    LogLine(
        "warning",
        "this gateway is not listed among the brokers yet: %s",
        "upgrade the gateway that it names: [each lists the others](high-availability.md) as "
        "soon as all can read that",
    ),
    LogLine(
        "info",
        "ready: %s",
        "nothing: every worker listens",
    ),
    LogLine(
        "warning",
        "a login to the page failed",
        "a wrong name or password at the [page](page.md); if nobody has mistyped, see who "
        "reaches `metrics.port`",
    ),
    LogLine(
        "error",
        "metrics.auth.passwords: %s",
        "correct the file: nobody gets in by a password until then",
    ),
    LogLine(
        "error",
        "metrics.auth.token: %s",
        "correct the file or variable: nobody gets in by a token until then",
    ),
    LogLine(
        "error",
        "a request for %s failed",
        "a defect of the HTTP port: report it with the traceback; at most one a second",
    ),
    LogLine(
        "debug",
        "what came at the HTTP port is not HTTP: %s",
        "nothing: a scanner, or TLS at a port without it; its connection is closed",
    ),
    LogLine(
        "error",
        "the page is not told what this worker does",
        "a defect: report it with the traceback; only the page lacks the worker",
    ),
    LogLine(
        "error",
        "the metrics of clients are not told",
        "a defect: report it with the traceback; only /metrics/clients lacks the worker",
    ),
    LogLine(
        "error",
        "the page's state cannot be made",
        "a defect: report it with the traceback; only the page stands still",
    ),
    LogLine(
        "error",
        "a volume cannot be served, and stays closed: %s",
        "a cluster of the tree that came later than the others cannot be used as configured, "
        "as the line says: correct it and restart the gateway; the other clusters are served",
    ),
    LogLine(
        "warning",
        "volume %s is not there yet: %s",
        "one of the [clusters of the tree](tree.md#when-a-cluster-is-down) does not answer, "
        "or its catalog cannot be read, as the line says; the gateway serves the others and "
        "tries again",
    ),
    LogLine(
        "warning",
        "trace and catalog export --from-memory will not find this worker: %s",
        "see which other process has the same `metrics.port`",
    ),
    LogLine(
        "info",
        "moves and deletions do not wait for requests under way: raise the catalog's format "
        "once all gateways read it (kafka-gateway catalog upgrade --format 5)",
        "so it says: [formats of the catalog](upgrade.md#formats-of-the-catalog)",
    ),
    LogLine(
        "debug",
        "the catalog does not know what this worker has read: %s",
        "nothing: it is tried again",
    ),
    LogLine(
        "error",
        "answering freezes failed",
        "a defect: keep the lines",
    ),
    LogLine(
        "info",
        "the configuration is read again, for its policies",
        "nothing: a SIGHUP",
    ),
    LogLine(
        "info",
        "policies are reloaded",
        "nothing: every worker has them",
    ),
    LogLine(
        "error",
        "policies stay as they were: %s",
        "mend the file at the line it names, and reload again; nothing has changed",
    ),
    LogLine(
        "error",
        "policies stay as they were: worker %d: %s",
        "the same, for what a worker could not load or configure",
    ),
    LogLine(
        "warning",
        "only policies are reloaded: what has changed in %s takes effect at the next start",
        "restart the gateway when it suits",
    ),
    LogLine(
        "info",
        "worker %d starts anew, with the policies of now",
        "nothing: it was starting during a reload",
    ),
    LogLine(
        "error",
        "reloading policies failed",
        "a defect: keep the lines; all stays as it was",
    ),
    LogLine(
        "error",
        "the worker cannot be made",
        "a defect: keep the lines; the gateway ends with exit status 78, as the next worker "
        "would end likewise",
    ),
    LogLine(
        "error",
        "preparing policies failed",
        "a defect: keep the lines; all stays as it was",
    ),
    LogLine(
        "error",
        "the supervisor sent no order: %s",
        "a defect: keep the line",
    ),
    LogLine(
        "error",
        "worker %d ended (%s)%s; starting it again in %.1f s",
        "read the reason; a signal other than yours is often the memory killer",
    ),
    LogLine(
        "error",
        "worker %d has not reported for %g s and is killed",
        "keep the lines before it, if it happens again: it hung, or had no processor; it is "
        "started again",
    ),
    LogLine(
        "warning",
        "the service manager at %s cannot be told %s: %s",
        "nothing if it is gone; else correct `NOTIFY_SOCKET`, or "
        "[systemd](#as-a-service-of-systemd) ends the gateway when it has heard nothing for "
        "`WatchdogSec=`",
    ),
    LogLine(
        "warning",
        "NOTIFY_SOCKET=%s is neither a path nor @ and a name: ignored",
        "correct what starts the gateway: its service manager is told nothing",
    ),
    LogLine(
        "warning",
        "WATCHDOG_USEC=%s is no number of microseconds: ignored",
        "correct what starts the gateway: its service manager is told no signs of life",
    ),
    LogLine(
        "warning",
        "worker process %d has closed its channel but runs on",
        "nothing: it is killed and started again",
    ),
    LogLine(
        "error",
        "worker process %d sent %s",
        "a defect: keep the line",
    ),
    LogLine(
        "error",
        "worker process %d sent a line without end",
        "a defect: keep the line",
    ),
    LogLine(
        "info",
        "%s: stopping, with up to %g s to drain",
        "nothing",
    ),
    LogLine(
        "error",
        "cut off from the cluster: clients are refused until it responds",
        "see to the network between the gateway and its brokers, or to the brokers",
    ),
    LogLine(
        "error",
        "clients cannot be accepted again yet: %s",
        "mend what it says; it is tried again, twice a second",
    ),
    LogLine(
        "warning",
        "the cluster responds again: clients are accepted",
        "nothing",
    ),
    LogLine(
        "warning",
        "gateway %s has been down for an hour: clients are not told of it any more. If it is "
        "gone for good: kafka-gateway catalog forget --gateway %s",
        "start it again, or forget it ([high availability](high-availability.md))",
    ),
    LogLine(
        "warning",
        "gateway %s accepts connections and does not answer: clients are not led to it"
        " while another one is up",
        "it [hangs](high-availability.md#when-a-gateway-hangs-or-is-cut-off), or has reached"
        " `max.connections`: see to it, and let a service manager end gateways that hang",
    ),
    LogLine(
        "info",
        "gateway %s answers again",
        "nothing",
    ),
    LogLine(
        "info",
        "gateway %s is listed again",
        "nothing",
    ),
    LogLine(
        "error",
        "%d workers did not end in %g s and are killed",
        "keep the lines before it",
    ),
    LogLine(
        "warning",
        "%s again: ending at once",
        "nothing",
    ),
    LogLine(
        "info",
        "stopped",
        "nothing",
    ),
    LogLine(
        "error",
        "%s",
        "nothing if the supervisor was killed meanwhile; else a defect: keep the lines",
        at="processes/worker.py",
        shown="the supervisor gave no configuration",
    ),
)
