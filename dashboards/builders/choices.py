"""The variables that several dashboards share: each offers what the ones before it leave."""

from grafana_foundation_sdk.builders.dashboard import QueryVariable

from builders.parts import chosen

_OF = "FROM dashboard.series WHERE"


def branch() -> QueryVariable:
    return chosen(
        "branch",
        "Branch",
        "SELECT name AS __text, branch_id AS __value FROM dashboard.branch ORDER BY branch_id = 0, followed"
        " DESC, name",
        "Branches whose first-parent order is known, followed ones first; the last entry is of no branch",
    )


def platforms() -> QueryVariable:
    return chosen(
        "platform",
        "Platform",
        "SELECT DISTINCT platform FROM dashboard.target WHERE newest IS NOT NULL OR waiting + running > 0"
        " ORDER BY 1",
        "Kinds of machine that measured something",
        many=True,
    )


def modes() -> QueryVariable:
    return chosen(
        "mode",
        "Mode",
        "SELECT DISTINCT mode FROM dashboard.target WHERE newest IS NOT NULL OR waiting + running > 0 ORDER"
        " BY 1",
        "walltime: KVM, real time. icount: emulation, one virtual nanosecond per instruction",
        many=True,
    )


def suite(of: str = "dashboard.series", order: str = "count(*) DESC") -> QueryVariable:
    """The one with most series first."""
    query = f"SELECT suite FROM {of} GROUP BY 1 ORDER BY {order}, 1"
    return chosen("suite", "Suite", query, "Benchmarks that belong together, the one with most series first")


def benchmark(of: str = "dashboard.series", order: str = "count(*) DESC") -> QueryVariable:
    query = f"SELECT benchmark FROM {of} WHERE suite = '$suite' GROUP BY 1 ORDER BY {order}, 1"
    return chosen("benchmark", "Benchmark", query, "A benchmark of the suite")


def metric(of: str = "dashboard.series", order: str = "count(*) DESC") -> QueryVariable:
    where = "suite = '$suite' AND benchmark = '$benchmark'"
    query = f"SELECT metric_in_unit FROM {of} WHERE {where} GROUP BY 1 ORDER BY {order}, 1"
    return chosen("metric", "Metric", query, "What a case measures, with its unit")


def platform(*, after: str) -> QueryVariable:
    query = f"SELECT DISTINCT platform {_OF} {after} ORDER BY 1"
    return chosen("platform", "Platform", query, "A kind of machine")


def mode(*, after: str) -> QueryVariable:
    where = f"{after} AND platform = '$platform'"
    query = f"SELECT DISTINCT mode {_OF} {where} ORDER BY 1"
    return chosen("mode", "Mode", query, "walltime or icount; never compared with each other")
