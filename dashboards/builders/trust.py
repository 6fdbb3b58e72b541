"""Trust: what the base vs base checks show over time, and how good the reports were."""

from builders import choices
from builders.parts import INTERVAL_COLOUR, ON_HARDWARE, CliffwatchDashboard, accompanying, lines, stat, table

_CONTROLS = (
    f"FROM dashboard.control WHERE {ON_HARDWARE} AND platform = ANY (ARRAY[$platform]::text[]) AND"
    " $__timeFilter(made)"
)
_REPORTS = "FROM dashboard.report_state WHERE $__timeFilter(opened)"
_FEW = ((None, "green"), (0.01, "orange"), (0.05, "red"))


def trust() -> CliffwatchDashboard:
    answers = (
        "Whether what Cliffwatch reports can be believed: base vs base checks, judged reports, refuted changes, open"
        " verdicts."
    )
    shown = CliffwatchDashboard("trust", "Cliffwatch: trust", answers, days=90)
    shown.with_variable(choices.platforms())
    return shown.show(*_numbers(), *_controls(), *_quality())


def _numbers() -> tuple[object, ...]:
    return (
        stat(
            "False positives of the control",
            "Share of rows in which base was reported to differ from itself. Reports promise 5 % of a family"
            " at most, so this stays far below.",
            f"SELECT sum(published)::float8 / nullif(sum(rows), 0) AS share {_CONTROLS}",
            "percentunit",
            _FEW,
        ),
        stat(
            "Controls",
            "Runs with a base vs base check in this time.",
            f"SELECT count(*) AS runs {_CONTROLS}",
            "short",
        ),
        stat(
            "Noise among judged reports",
            "Of the reports opened in this time that somebody judged: the share that was called noise.",
            "SELECT count(*) FILTER (WHERE state = 'noise')::float8 / nullif(count(*) FILTER (WHERE state <>"
            f" 'new'), 0) AS share {_REPORTS}",
            "percentunit",
            ((None, "green"), (0.1, "orange"), (0.25, "red")),
        ),
        stat(
            "Time to the first judgement",
            "Median, of reports opened in this time that somebody judged.",
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM judged - opened))::float8"
            f" AS seconds {_REPORTS} AND judged IS NOT NULL",
            "s",
            ((None, "green"), (259200, "orange"), (604800, "red")),
        ),
    )


def _controls() -> tuple[object, ...]:
    return (
        lines(
            "base vs base check: the largest difference",
            "Of base to itself in each run, by platform and mode. Reports tell nothing below the threshold of"
            " a run, which is drawn beside it.",
            "SELECT made AS time, platform || ' ' || mode AS metric, largest, notable AS threshold"
            f" {_CONTROLS} ORDER BY made",
            "percentunit",
            wide=24,
        ).override_by_regexp("/^threshold/", accompanying()),
        table(
            "Controls that reported something",
            "Runs in which base was reported to differ from itself: each is a false positive, and a host to"
            " look at.",
            f"SELECT made, host, platform, mode, rows, published, largest, run {_CONTROLS} AND published > 0"
            " ORDER BY made DESC LIMIT 100",
            links={"run": ("Run", "${site}/runs/${__value.raw}")},
            units={"largest": "percentunit"},
            high=5,
        ),
        table(
            "Largest differences",
            "The controls with the largest difference of base to itself in this time.",
            f"SELECT largest, made, host, platform, mode, rows, run {_CONTROLS} ORDER BY largest DESC NULLS"
            " LAST LIMIT 20",
            links={"run": ("Run", "${site}/runs/${__value.raw}")},
            units={"largest": "percentunit"},
        ),
    )


def _quality() -> tuple[object, ...]:
    return (
        lines(
            "Reports by what they turned out to be",
            "Regression reports by the time they were opened and their state today.",
            f"SELECT $__timeGroupAlias(opened, $__interval), state AS metric, count(*) AS reports {_REPORTS}"
            " GROUP BY 1, 2 ORDER BY 1",
            "short",
            bars=True,
            least="1d",
            colours={
                "new": "red",
                "acknowledged": "yellow",
                "expected": "blue",
                "fixed": "green",
                "noise": INTERVAL_COLOUR,
            },
        ),
        lines(
            "Changes by state",
            "Changes by the time they were found: candidates come from history alone, refuted ones did not"
            " show again.",
            "SELECT $__timeGroupAlias(found, $__interval), state AS metric, count(*) AS changes FROM"
            " dashboard.change WHERE platform = ANY (ARRAY[$platform]::text[]) AND $__timeFilter(found) GROUP"
            " BY 1, 2 ORDER BY 1",
            "short",
            bars=True,
            least="1d",
            colours={
                "candidate": "yellow",
                "confirmed": "red",
                "refuted": INTERVAL_COLOUR,
                "superseded": "blue",
            },
        ),
        lines(
            "Rows without an answer",
            "Share of rows of comparisons of history that stayed inconclusive: too few boots for the noise of"
            " the host.",
            "SELECT $__timeGroupAlias(made, $__interval), platform || ' ' || mode AS metric,"
            " sum(inconclusive)::float8 / nullif(sum(regressions + improvements + changed + unchanged +"
            " inconclusive), 0) AS share FROM dashboard.comparison WHERE of_history AND platform = ANY"
            " (ARRAY[$platform]::text[]) AND $__timeFilter(made) GROUP BY 1, 2 ORDER BY 1",
            "percentunit",
            steps=((None, "green"), (0.2, "orange")),
            least="12h",
            wide=24,
        ),
        table(
            "Reports",
            "Newest reports with their state and when they were first judged. Size is the largest change, as"
            " a fraction.",
            "SELECT opened, state, head, subject, changes, largest, platforms, judged, report FROM"
            " dashboard.report WHERE $__timeFilter(opened) ORDER BY opened DESC LIMIT 50",
            links={"head": ("Report", "${site}/regressions/${__data.fields.report}")},
            units={"largest": "percentunit"},
            hide=("report",),
        ),
    )
