"""Rows of the overview about the gateways as programs: connections, workers, logs."""

from __future__ import annotations

from dashboards.panels import Lines, Number, Panel, Query
from dashboards.queries import growth, highest, lowest, rate, state, total


def connections() -> list[Panel]:
    """Who connects, by which listener, and why connections end."""
    return [
        Lines(
            "Open connections",
            "Client connections by listener.",
            "short",
            [Query(total(state("open_connections"), "listener"), "{{listener}}")],
            stacked=True,
        ),
        Lines(
            "New connections",
            "Connections accepted a second. Many, while few are open: clients reconnect in a loop.",
            "eps",
            [Query(total(rate("connections_total"), "listener"), "{{listener}}")],
        ),
        Lines(
            "Closes by reason",
            "Why connections ended; operations.md says what each reason means.",
            "eps",
            [Query(total(rate("connection_closes_total"), "reason"), "{{reason}}")],
        ),
        Lines(
            "Logins",
            "Logins and re-authentications a second, by mechanism and result.",
            "eps",
            [
                Query(
                    total(rate("authentications_total"), "mechanism", "result"),
                    "{{mechanism}} {{result}}",
                )
            ],
        ),
        Lines(
            "Accepting paused",
            "Times a second that a worker accepted no clients for a while, and the limit.",
            "eps",
            [
                Query(
                    total(rate("accept_delays_total"), "listener", "reason"),
                    "{{listener}}: {{reason}}",
                )
            ],
        ),
        Lines(
            "Waiting for memory",
            "Long responses a second that waited for memory to be collected in, and the setting of "
            "`collected_responses` to raise.",
            "eps",
            [
                Query(
                    total(rate("collected_response_waits_total"), "listener", "setting"),
                    "{{listener}}: {{setting}}",
                )
            ],
        ),
        Lines(
            "Certificates",
            "Until the certificate of each listener expires.",
            "s",
            [Query(lowest(state("certificate_expiry_seconds"), "listener"), "{{listener}}")],
        ),
        Lines(
            "Refused by brokers",
            "Connections for clients that brokers closed before they answered (closed), a second, "
            "and those of principals that had their share of a broker (share).",
            "eps",
            [
                Query(
                    total(rate("broker_refusals_total"), "cluster", "reason"),
                    "{{cluster}}: {{reason}}",
                )
            ],
        ),
        Lines(
            "Brokers that refuse",
            "Brokers of each cluster that let in no new connection, while older ones work.",
            "short",
            [Query(highest(state("refusing_brokers"), "cluster"), "{{cluster}}")],
        ),
        Number(
            "Brokers without a port",
            "Brokers outside `node_ids` of a listener, found in the time shown: clients cannot "
            "reach them.",
            "short",
            total(growth("nodes_outside_ranges_total"), "listener"),
            width=12,
            legend="{{listener}}",
        ),
    ]


def workers() -> list[Panel]:
    """What the worker processes take, and whether they stay."""
    each = "{{instance}} worker {{worker}}"
    return [
        Lines(
            "CPU",
            "Processors that each worker uses; one worker can use one.",
            "short",
            [Query(rate("worker_cpu_seconds_total"), each)],
        ),
        Lines(
            "Memory",
            "Resident memory of each worker.",
            "bytes",
            [Query(state("worker_resident_bytes"), each)],
        ),
        Lines(
            "Age of reports",
            "Workers report every second; one that is silent for 3 s is killed and started again.",
            "s",
            [Query(state("worker_report_age_seconds"), each)],
        ),
        Lines(
            "Restarts",
            "Workers that died and were started again, a second.",
            "eps",
            [Query(total(rate("worker_restarts_total"), "instance"), "{{instance}}")],
        ),
    ]


def logs() -> list[Panel]:
    """The traffic log, the audit log, and what is beyond a bound."""
    return [
        Lines(
            "Records written",
            "Records a second of the traffic log, and events of the audit log, by where they went.",
            "eps",
            [
                Query(total(rate("traffic_log_records_total"), "sink"), "traffic log, {{sink}}"),
                Query(total(rate("audit_events_written_total"), "sink"), "audit log, {{sink}}"),
            ],
        ),
        Lines(
            "Records dropped",
            "Records that a log missed, and why: 0 when all is well.",
            "eps",
            [
                Query(
                    total(rate("traffic_log_dropped_total"), "sink", "reason"),
                    "traffic log, {{sink}}: {{reason}}",
                ),
                Query(
                    total(rate("audit_events_dropped_total"), "sink", "reason"),
                    "audit log, {{sink}}: {{reason}}",
                ),
                Query(total(rate("denial_events_dropped_total")), "denials, too fast"),
                Query(total(rate("policy_events_dropped_total")), "policy events, too fast"),
            ],
        ),
        Lines(
            "Records waiting",
            "What waits for the disk or for the cluster. Growing: it will be dropped.",
            "short",
            [
                Query(total(state("traffic_log_queued_records")), "traffic log"),
                Query(total(state("audit_queued_events")), "audit log"),
            ],
        ),
        Lines(
            "Beyond bounds",
            "Counts under `(other)`, since a label has too many values, and flows that the traffic "
            "log summed up under one client.",
            "eps",
            [
                Query(total(rate("label_overflow_total"), "label"), "label {{label}}"),
                Query(total(rate("traffic_log_folded_total")), "traffic log"),
            ],
        ),
        Lines(
            "Clients that push metrics",
            "Clients whose own metrics `/metrics/clients` shows (KIP-714).",
            "short",
            [Query(total(state("client_telemetry_clients")), "clients")],
        ),
        Lines(
            "Pushed and not kept",
            "Clients beyond `client_telemetry.max_clients`, and series that are too many, of "
            "another type, or that no subscription asks for.",
            "eps",
            [Query(total(rate("client_telemetry_dropped_total"), "reason"), "{{reason}}")],
        ),
    ]
