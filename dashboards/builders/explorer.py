"""Series explorer: the history of one case and metric, with its changes."""

from grafana_foundation_sdk.builders.trend import Panel as Trend
from grafana_foundation_sdk.models.common import VisibilityMode

from builders import choices
from builders.parts import (
    ANY,
    APART,
    SOURCE,
    CliffwatchDashboard,
    SqlQuery,
    accompanying,
    annotation,
    chosen,
    hidden,
    lines,
    table,
    thresholds,
)

_SERIES = "series_id = (SELECT series_id FROM dashboard.series WHERE series = '$series')"
_CASE = (
    "suite = '$suite' AND benchmark = '$benchmark' AND parameters = '$parameters' AND metric_in_unit ="
    " '$metric'"
)
_COLUMNS = "commit, subject, release, n, centre, low, high, epoch, run, at"
_POINTS = (
    f"(SELECT ordinal, {_COLUMNS} FROM dashboard.point WHERE {_SERIES} AND branch_id = $branch UNION ALL"
    f" SELECT NULL, {_COLUMNS} FROM dashboard.point_by_date WHERE {_SERIES} AND $branch = 0) AS history"
)
_TITLE = "$benchmark $parameters: $metric"


def explorer() -> CliffwatchDashboard:
    answers = (
        "How one case read over a branch's revisions: medians over boots with their 95 % intervals, a line"
        " for each environment, changes as annotations."
    )
    shown = CliffwatchDashboard("series", "Cliffwatch: series explorer", answers, days=90)
    for variable in (
        choices.suite(),
        choices.benchmark(),
        _parameters(),
        _metric(),
        _platform(),
        _mode(),
        _series(),
        _branch(),
    ):
        shown.with_variable(variable)
    shown.annotation(_changes())
    return shown.show(_by_date(), _by_place(), _list(), _list_of_changes())


def _parameters() -> object:
    where = "suite = '$suite' AND benchmark = '$benchmark'"
    query = f"SELECT DISTINCT parameters FROM dashboard.series WHERE {where} ORDER BY 1"
    return chosen(
        "parameters", "Parameters", query, "The parameters that make the case; none where there are none"
    )


def _metric() -> object:
    where = "suite = '$suite' AND benchmark = '$benchmark' AND parameters = '$parameters'"
    query = f"SELECT DISTINCT metric_in_unit FROM dashboard.series WHERE {where} ORDER BY 1"
    return chosen("metric", "Metric", query, "What the case measures, with its unit")


def _platform() -> object:
    return choices.platform(after=_CASE)


def _mode() -> object:
    return choices.mode(after=_CASE)


def _series() -> object:
    where = f"{_CASE} AND platform = '$platform' AND mode = '$mode'"
    query = f"SELECT series FROM dashboard.series WHERE {where}"
    return hidden("series", query, "The series that the variables before name")


def _branch() -> object:
    query = f"""
SELECT name AS __text, branch_id AS __value FROM dashboard.branch
WHERE branch_id = 0 OR branch_id IN (SELECT branch_id FROM dashboard.series_branch WHERE {_SERIES})
ORDER BY branch_id = 0, followed DESC, name""".strip()
    return chosen(
        "branch",
        "Branch",
        query,
        "A branch on which the series was measured, or all of its revisions by date",
    )


def _changes() -> object:
    query = f"""
SELECT at AS time, '<a href="' || url || '/series/' || series || '">' || state || ' ' || kind || '</a> '
       || coalesce(round((100 * size)::numeric, 2) || ' %', base_value || ' to ' || head_value || ' ' || unit) || ', ' || left(base, 12) || '..' || left(head, 12)
       || coalesce(' <a href="' || url || '/regressions/' || report || '">report</a>', '') AS text,
       state || ',' || kind AS tags
FROM dashboard.change, dashboard.site WHERE {_SERIES} AND state NOT IN ('refuted', 'superseded') AND $__timeFilter(at) ORDER BY at""".strip()
    return annotation("Changes", query, "red")


def _by_date() -> object:
    query = f"""
SELECT {APART} AS time, 'environment ' || left(epoch, 8) AS metric, centre, low, high
FROM {_POINTS} WHERE $__timeFilter(at) ORDER BY at"""
    return lines(
        f"{_TITLE} by date",
        "Each point is a revision's median over boots, at the time the revision was written; low and high"
        " hold it at 95 %. A new line begins where the environment changed: numbers of two environments are"
        " not comparable.",
        query,
        "none",
        wide=24,
        high=11,
    ).override_by_regexp("/^(low|high)/", accompanying())


def _by_place() -> object:
    query = f"SELECT ordinal, centre, low, high FROM {_POINTS} WHERE ordinal IS NOT NULL ORDER BY ordinal"
    return (
        Trend()
        .title(f"{_TITLE} by place on the branch")
        .description(
            "The whole history in first-parent order, whatever the dates of its commits: the place counts"
            " from the root on. Empty where no branch is chosen."
        )
        .datasource(SOURCE)
        .with_target(SqlQuery(query))
        .x_field("ordinal")
        .unit("none")
        .thresholds(thresholds(ANY))
        .show_points(VisibilityMode.ALWAYS)
        .span_nulls(True)
        .override_by_regexp("/^(low|high)$/", accompanying())
        .height(9)
        .span(24)
    )


def _list() -> object:
    query = f"""
SELECT at, commit, subject, centre, low, high, n, epoch, run, ordinal
FROM {_POINTS} WHERE $__timeFilter(at) ORDER BY ordinal DESC NULLS LAST, at DESC LIMIT 500"""
    return table(
        "Points",
        "The newest 500 revisions in this time; n is how many boots. Follow a commit to what is known of it,"
        " a run to its boots.",
        query,
        links={
            "commit": ("Revision", "${site}/revisions/${__value.raw}"),
            "run": ("Run", "${site}/runs/${__value.raw}"),
            "centre": ("Series", "${site}/series/${series}"),
        },
    )


def _list_of_changes() -> object:
    query = f"""
SELECT at, kind, state, size, ci_low, ci_high, base_value, head_value, left(base, 12) AS base, left(head, 12) AS head, subject, report
FROM dashboard.change WHERE {_SERIES} ORDER BY at DESC LIMIT 100"""
    return table(
        "Changes",
        "Steps of this series, refuted ones too. Sizes are fractions of base; a change from or to zero has"
        " the values of both sides instead.",
        query,
        links={"head": ("Compare", "${site}/compare/${__data.fields.base}...${__data.fields.head}")},
        units={"size": "percentunit", "ci_low": "percentunit", "ci_high": "percentunit"},
        hide=("report",),
    )
