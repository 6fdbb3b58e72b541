"""Documents as their types, made of what a test is about; everything else is as plain as it may be."""

from typing import Any

from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.run_record import FORMAT, FORMAT_VERSION, ArmFacts, ArmRecord, PlanRecord, RunRecord
from cliffwatch.formats.work import Work


def made_row(**members: Any) -> ComparisonRow:
    """A row of Comparison JSON of the case seq-get."""
    plain: dict[str, Any] = {
        "suite": "local-storage",
        "benchmark": "seq-get",
        "params": {"nr_maps": "1"},
        "metric": "hits-latency",
        "unit": "ns/op",
        "better": "lower",
        "platform": "amd-rome",
        "mode": "walltime",
        "n_base": 21,
        "n_head": 21,
        "base": 100.0,
        "head": 100.0,
        "change": 0.0,
        "ci_low": None,
        "ci_high": None,
        "p": None,
        "q": None,
        "mde": None,
        "threshold": 0.01,
        "interval_level": 0.9,
        "verdict": "unchanged",
        "reason": "",
        "needs": None,
        "notes": (),
        "primary": True,
    }
    return ComparisonRow(**(plain | members))


def made_arm(name: str = "base", **facts: Any) -> ArmRecord:
    return ArmRecord(name=name, label=name, facts=ArmFacts(**facts))


def made_record(**members: Any) -> RunRecord:
    """run.json of two arms without a case."""
    plain: dict[str, Any] = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "cliffwatch_version": "0.1.0",
        "created": "2026-11-21T10:00:00+00:00",
        "status": "complete",
        "identity": "0" * 32,
        "mode": "walltime",
        "platform": "amd-rome",
        "tree": "",
        "arms": (made_arm("base"), made_arm("head")),
        "plan": PlanRecord(seed=1, cases=(), boots=()),
    }
    return RunRecord(**(plain | members))


def made_work(**members: Any) -> Work:
    """A job of a host, and its lease."""
    plain: dict[str, Any] = {
        "job": "job",
        "lease": "lease",
        "tree": "https://git.example.org/linux.git",
        "base": "1" * 40,
        "head": "2" * 40,
        "platform": "emulated-x86-64",
        "mode": "icount",
        "suites": ("local-storage",),
        "profile": "smoke",
        "boots": "1",
        "seed": 1,
        "heartbeat_seconds": 30,
        "cancel": False,
    }
    return Work(**plain | members)
