"""The report for programs: Comparison JSON (docs/formats.md)."""

import json
from dataclasses import asdict
from typing import Any

from cliffwatch.comparing.comparison import METHOD_VERSION, Comparison, ComparisonSet, SideFacts, Sweep
from cliffwatch.reports.context import ReportContext

FORMAT_VERSION = 1


def json_report(compared: ComparisonSet, context: ReportContext) -> str:
    return json.dumps(comparison_set_to_json(compared, context), indent=1, allow_nan=False) + "\n"


def comparison_set_to_json(compared: ComparisonSet, context: ReportContext) -> dict[str, object]:
    return {
        "format": "cliffwatch-comparison",
        "format_version": FORMAT_VERSION,
        "method_version": METHOD_VERSION,
        "base": _side(compared.base),
        "head": _side(compared.head),
        "notable": compared.notable,
        "warnings": list(compared.warnings),
        "failures": [
            {"arm": failure.arm, "message": failure.message, "evidence": failure.evidence}
            for failure in context.failures
        ],
        "comparisons": [comparison_to_json(row) for row in compared.rows],
        "means": [asdict(mean) for mean in compared.means],
        "control": None if compared.control is None else asdict(compared.control),
        "sweeps": [_sweep_to_json(sweep) for sweep in compared.sweeps],
        "left_out": [
            {
                "suite": each.case.suite,
                "benchmark": each.case.benchmark,
                "params": dict(each.case.params),
                "status": each.status,
                "reason": each.reason,
            }
            for each in compared.left_out
        ],
    }


def _side(side: SideFacts) -> dict[str, object]:
    return {"label": side.label, "boots": side.boots, **side.facts}


def comparison_to_json(row: Comparison) -> dict[str, object]:
    """The fields of design and API; what does not exist is null, never 0 or NaN."""
    return {
        "suite": row.case.suite,
        "benchmark": row.case.benchmark,
        "params": dict(row.case.params),
        "metric": row.metric,
        "unit": row.unit,
        "better": row.better,
        "platform": row.platform,
        "mode": row.mode,
        "n_base": row.n_base,
        "n_head": row.n_head,
        "base": row.base,
        "head": row.head,
        "change": row.change,
        "ci_low": row.ci_low,
        "ci_high": row.ci_high,
        "p": row.p,
        "q": row.q,
        "mde": row.mde,
        "threshold": row.threshold,
        "interval_level": row.interval_level,
        "verdict": row.verdict,
        "reason": row.reason,
        "needs": row.needs,
        "notes": list(row.notes),
        "primary": row.primary,
    }


def _sweep_to_json(sweep: Sweep) -> dict[str, Any]:
    """`base_bend` and `head_bend` are the names of the documented format."""
    return {name.replace("_breakpoint", "_bend"): value for name, value in asdict(sweep).items()}
