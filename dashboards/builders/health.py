"""Service health: its background tasks, what comes in, what is stored."""

from builders.parts import NONE_IS_GOOD, CliffwatchDashboard, lines, stat, table


def health() -> CliffwatchDashboard:
    answers = (
        "Whether the service itself works, as its database shows it: heartbeat, background tasks, uploads,"
        " size. Times of requests are Prometheus' business: /metrics of the service."
    )
    return CliffwatchDashboard("health", "Cliffwatch: service health", answers, days=2).show(
        *_now(), *_tasks(), *_stored()
    )


def _now() -> tuple[object, ...]:
    return (
        stat(
            "Last heartbeat",
            "Since a process of background tasks was last alive; they beat every ten seconds. No value: none"
            " is running.",
            "SELECT extract(epoch FROM now() - max(last_heartbeat))::float8 AS seconds FROM dashboard.worker",
            "s",
            ((None, "green"), (60, "orange"), (180, "red")),
        ),
        stat(
            "Tasks that wait",
            "Background tasks that are due and not begun.",
            "SELECT count(*) AS tasks FROM dashboard.task WHERE status = 'todo' AND (due IS NULL OR due <="
            " now())",
            "short",
            ((None, "green"), (100, "orange"), (1000, "red")),
        ),
        stat(
            "Tasks given up",
            "Background tasks that failed for good in this time; the logs say why.",
            "SELECT count(*) AS tasks FROM dashboard.task WHERE status = 'failed' AND $__timeFilter(at)",
            "short",
            NONE_IS_GOOD,
        ),
        stat(
            "Size of the database",
            "All tables with their indexes and large values.",
            "SELECT sum(bytes) AS bytes FROM dashboard.stored",
            "bytes",
        ),
    )


def _tasks() -> tuple[object, ...]:
    return (
        lines(
            "Background tasks",
            "Tasks that ended, by kind and outcome.",
            "SELECT $__timeGroupAlias(at, $__interval), task || ' ' || event AS metric, count(*) AS tasks"
            " FROM dashboard.task_event WHERE $__timeFilter(at) AND event IN ('succeeded', 'failed',"
            " 'aborted') GROUP BY 1, 2 ORDER BY 1",
            "short",
            bars=True,
            least="1h",
        ),
        lines(
            "Runs that came in",
            "Runs by the time their first upload came, by platform and mode.",
            "SELECT $__timeGroupAlias(received, $__interval), platform || ' ' || mode AS metric, count(*) AS"
            " runs FROM dashboard.run WHERE $__timeFilter(received) GROUP BY 1, 2 ORDER BY 1",
            "short",
            bars=True,
            least="1h",
        ),
        table(
            "Tasks not done",
            "What waits, runs or was given up, by kind.",
            "SELECT task, status, count(*) AS tasks, min(asked) AS oldest, max(at) AS newest FROM"
            " dashboard.task GROUP BY 1, 2 ORDER BY 1, 2",
            high=6,
        ),
        table(
            "Runs that are not complete",
            "Uploads that go on, or stopped. Times are of their first and last piece.",
            "SELECT run, platform, mode, host, status, received, updated FROM dashboard.run WHERE status <>"
            " 'complete' AND $__timeFilter(received) ORDER BY received DESC LIMIT 100",
            links={"run": ("Run", "${site}/runs/${__value.raw}")},
            high=6,
        ),
    )


def _stored() -> tuple[object, ...]:
    return (
        lines(
            "Uploaded a day",
            "Bytes of bodies, unpacked, that were stored under all tokens, by day (UTC).",
            "SELECT day::timestamptz AS time, bytes FROM dashboard.uploaded WHERE"
            " $__timeFilter(day::timestamptz) ORDER BY 1",
            "bytes",
            bars=True,
        ),
        lines(
            "Backups",
            "Size of each file that `cliffwatch backup` wrote and verified.",
            "SELECT taken AS time, bytes FROM dashboard.backup WHERE $__timeFilter(taken) ORDER BY 1",
            "bytes",
            bars=True,
        ),
        table(
            "Largest tables",
            "With indexes and large values. Rows are the planner's estimate.",
            "SELECT name, bytes, rows FROM dashboard.stored ORDER BY bytes DESC LIMIT 15",
            units={"bytes": "bytes", "rows": "short"},
            wide=12,
        ),
        stat(
            "Last backup",
            "Since the moment that the last verified backup holds. No value: there never was one.",
            "SELECT extract(epoch FROM now() - max(taken))::float8 AS seconds FROM dashboard.backup",
            "s",
            ((None, "green"), (129600, "red")),
        ),
        table(
            "Version",
            "The schema's version: that of the newest migration.",
            "SELECT version FROM dashboard.schema_version",
            wide=6,
            high=4,
        ),
    )
