"""Log lines of listeners, certificates, client connections and clients' requests."""

from __future__ import annotations

from typing import Final

from devkit.log_lines.log_line import LogLine

LINES: Final = (
    LogLine(
        "warning",
        "the name %r cannot be looked up: %s; %s",
        "see to the name server of that name; the addresses found last are used for a day, if"
        " there are any. Other names are not held up",
    ),
    LogLine(
        "info",
        "the name %r is found again",
        "nothing",
    ),
    LogLine(
        "debug, warning, error",
        "%s on %s: %s",
        "a client connection ended; the table above has the reasons; of those without a "
        "broker connection, and of logins and TLS handshakes that fail, at most 5 of each "
        "kind a second and worker",
    ),
    LogLine(
        "warning",
        "%s denied %s of %r: %s (client id %r, listener %s, principal %s, rule %s)",
        "a client asked for what it may not have: tell its owner, or create the namespace; "
        "logged once a connection and name, at most 100 a second and worker; the traffic log "
        "has all",
    ),
    LogLine(
        "warning",
        "listener %s is open to other machines: %s",
        "give it [TLS](tls.md) with client certificates or a [login](authentication.md), and "
        "[authorization](access.md); nothing, if that is meant; once at start",
    ),
    LogLine(
        "warning",
        "listener %s: the certificate %s",
        "renew it: it expires within 30 days, or has expired; at start and when it is read anew",
    ),
    LogLine(
        "info",
        "listener %s uses the TLS files as they are now",
        "nothing: a certificate was renewed",
    ),
    LogLine(
        "error",
        "listener %s keeps the certificates it has: %s.%s",
        "mend the file it names; new connections get what was read before, until the next start",
    ),
    LogLine(
        "error",
        "the TLS files of listeners could not be read again",
        "a defect: report it with the traceback; new connections get what was read before",
    ),
    LogLine(
        "warning",
        "%d questions of peers were not answered in time",
        "nothing: they were under way when this gateway stopped, and the peers ask again; if "
        "it happens at each stop, raise `drain_seconds`",
    ),
    LogLine(
        "warning",
        "broker %s is outside node_ids of listener %s and is not advertised",
        "add its id to `node_ids` and restart",
    ),
    LogLine(
        "error",
        "a request cannot be traced: all traces of this worker end",
        "a defect of `kafka-gateway trace`, which no client notices: keep the lines",
    ),
    LogLine(
        "error",
        "a task of the gateway's own failed",
        "a defect: keep the lines",
    ),
    LogLine(
        "error",
        "a request for another volume was not checked again",
        "a defect: keep the lines; the request has failed",
    ),
    LogLine(
        "warning",
        "%s: the broker denies idempotent producers (CLUSTER_AUTHORIZATION_FAILED): grant the"
        " gateway's principal there IDEMPOTENT_WRITE on the cluster (kafka-acls --add "
        "--operation IdempotentWrite --cluster), which brokers before 2.8 require; for later "
        "ones WRITE on any topic is enough",
        "so it says; once for each connection of a client",
    ),
    LogLine(
        "info",
        "clients are led to gateway %s",
        "nothing: the gateway stops, or is cut off, and clients go on "
        "[there](high-availability.md#when-a-gateway-stops)",
    ),
    LogLine(
        "warning",
        "no other gateway is up: clients are not led to one",
        "nothing, if all of them stop; otherwise see whether this machine can connect to the "
        "others' advertised addresses",
    ),
    LogLine(
        "error",
        "the addresses of gateway %s cannot be used: %s",
        "that gateway wrote them: upgrade it, or start it again",
    ),
    LogLine(
        "warning",
        "%d connections were still busy after the drain",
        "a longer `drain_seconds`, if clients should not notice",
    ),
    LogLine(
        "warning, error",
        "listener %s accepts no clients for now: %s",
        "`max.connections` or `max.connection.creation.rate` is reached, and clients "
        "[wait](configuration.md#limits-of-connections); at most every 10 s. An error where "
        "`accept failed`: the system is out of something, mostly file descriptors: raise the "
        "limit (`LimitNOFILE`, `ulimit -n`), or set `max.connections`; tried again four times"
        " a second, meanwhile `/readyz` says 503. Listener `metrics.port` is the HTTP port: "
        "all of `metrics.max_connections` are open; probes are answered all the same",
    ),
    LogLine(
        "debug",
        "a client was gone before its connection was made",
        "nothing to do",
    ),
    LogLine(
        "error",
        "a connection that failed could not be closed as others are",
        "a defect: keep the lines; its sockets were closed",
    ),
)
