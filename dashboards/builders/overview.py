"""Overview: what got faster or slower on a branch, on which platform."""

from builders import choices
from builders.parts import NONE_IS_GOOD, CliffwatchDashboard, lines, stat, table

_TARGETS = "platform = ANY (ARRAY[$platform]::text[]) AND mode = ANY (ARRAY[$mode]::text[])"
_COUNTED = "regressions, improvements, changed, unchanged, inconclusive, missing + failed AS absent"
_COMPARE = {
    "head": ("Compare with its base", "${site}/compare/${__data.fields.base}...${__data.fields.head}")
}
_COLOURS = {"regressions": NONE_IS_GOOD}


def overview() -> CliffwatchDashboard:
    answers = (
        "What got faster or slower on a branch, by platform: newest verdicts, reports that wait for somebody,"
        " what is stale."
    )
    shown = CliffwatchDashboard("overview", "Cliffwatch: overview", answers, days=30)
    for variable in (choices.branch(), choices.platforms(), choices.modes()):
        shown.with_variable(variable)
    return shown.show(*_numbers(), *_verdicts(), *_waiting())


def _numbers() -> tuple[object, ...]:
    found = f"FROM dashboard.change WHERE state = 'confirmed' AND $__timeFilter(found) AND {_TARGETS}"
    return (
        stat(
            "Reports not judged",
            "Regression reports in state new: nobody has said what they are.",
            "SELECT count(*) AS reports FROM dashboard.report_state WHERE state = 'new'",
            "short",
            NONE_IS_GOOD,
        ),
        stat(
            "Regressions",
            "Series with a confirmed regression found in this time, on every branch.",
            f"SELECT count(*) AS series {found} AND kind = 'regression'",
            "short",
            NONE_IS_GOOD,
        ),
        stat(
            "Improvements",
            "Series with a confirmed improvement found in this time, on every branch.",
            f"SELECT count(*) AS series {found} AND kind = 'improvement'",
            "short",
        ),
        stat(
            "Hours since the last run",
            "Of the followed target that was measured longest ago.",
            "SELECT max(extract(epoch FROM now() - newest) / 3600)::float8 AS hours FROM dashboard.target"
            " WHERE followed",
            "h",
            ((None, "green"), (24, "orange"), (48, "red")),
        ),
    )


def _verdicts() -> tuple[object, ...]:
    compared = f"FROM dashboard.branch_comparison WHERE branch_id = $branch AND {_TARGETS}"
    return (
        table(
            "Newest verdict",
            "The newest comparison of each platform and mode on this branch. Follow head to the whole"
            " comparison.",
            f"SELECT target.platform, target.mode, head, subject, {_COUNTED}, made, base FROM"
            " dashboard.target CROSS JOIN LATERAL (SELECT * FROM dashboard.branch_comparison AS compared"
            " WHERE branch_id = $branch AND compared.platform = target.platform AND compared.mode ="
            " target.mode ORDER BY ordinal DESC, made DESC LIMIT 1) AS newest WHERE target.platform = ANY"
            " (ARRAY[$platform]::text[]) AND target.mode = ANY (ARRAY[$mode]::text[]) AND target.newest IS"
            " NOT NULL ORDER BY 1, 2",
            links=_COMPARE,
            steps=_COLOURS,
            hide=("base",),
            high=6,
        ),
        lines(
            "Verdicts that changed",
            "Regressions (up), improvements (down) and changes that nobody judged, on this branch and the"
            " chosen platforms, by the time the comparison was made.",
            "SELECT $__timeGroupAlias(made, $__interval), sum(regressions) AS regressions,"
            f" -sum(improvements) AS improvements, sum(changed) AS changed {compared}"
            " AND $__timeFilter(made) GROUP BY 1 ORDER BY 1",
            "short",
            bars=True,
            least="12h",
            colours={"regressions": "red", "improvements": "blue", "changed": "purple"},
            wide=24,
        ),
        table(
            "Revisions",
            "The newest revisions of this branch with what their comparisons say; a row for each platform and"
            " mode.",
            f"SELECT ordinal, head, subject, platform, mode, {_COUNTED}, made, base {compared}"
            " ORDER BY ordinal DESC, platform, mode LIMIT 100",
            links=_COMPARE,
            steps=_COLOURS,
            hide=("base",),
            high=12,
        ),
    )


def _waiting() -> tuple[object, ...]:
    return (
        table(
            "Reports to judge",
            "Regression reports in state new, newest first, on every branch. Size is the largest change, as a"
            " fraction.",
            "SELECT opened, head, subject, changes, largest, platforms, report FROM dashboard.report WHERE"
            " state = 'new' ORDER BY opened DESC LIMIT 50",
            links={"head": ("Judge it", "${site}/regressions/${__data.fields.report}")},
            units={"largest": "percentunit"},
            hide=("report",),
        ),
        table(
            "Targets",
            "When each platform and mode was measured for history last, what waits, and when a host of it was"
            " seen.",
            "SELECT platform, mode, newest, waiting, running, seen, followed FROM dashboard.target"
            " WHERE newest IS NOT NULL OR waiting + running > 0 ORDER BY 1, 2",
            links={"platform": ("Hosts", "${site}/hosts")},
        ),
    )
