"""Pull requests' states for tests: one for each thing that a comment can say."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cliffwatch.comparing.comparison import ComparisonSet, SideFacts
from cliffwatch.failure import Failure
from cliffwatch.formats.comparison import ComparisonRow
from cliffwatch.formats.verdicts import Control
from cliffwatch.pull_request.state import (
    Booting,
    Building,
    Cancelled,
    EarlierVersion,
    Failed,
    Link,
    Measured,
    Progress,
    PullRequestState,
    Queued,
    Series,
    Superseded,
    TargetState,
    Waiting,
)
from cliffwatch.reports.context import ArmFailure, ReportContext
from cliffwatch.samples import CaseKey, CaseOutcome, Mode

BASE, HEAD, NEXT = (
    "1f9feb4e1fdd90f6fa2cae1e1a2a5b1ff3bb6dea",
    "a3c5d0e94cbb82f9a1e7dc4f1f1b7e0f9d3e4b5c",
    "c" * 40,
)
REPEAT = (
    "cliffwatch run --tree https://github.com/kernel-patches/bpf.git --base 1f9feb4e1fdd --head a3c5d0e94cbb"
    " --suite local-storage,ringbuf --mode walltime --platform amd-rome --boots staged"
)
REPEAT_OF_A_LIBRARY = (
    "git init --quiet library-base\ngit -C library-base fetch --depth 1 https://github.com/cilium/ebpf"
    f" {BASE}\ncliffwatch run --tree https://git.example.org/linux.git --arm 'base=v6.12"
    " module=github.com/cilium/ebpf=./library-base'"
)
CONTEXT = ReportContext(
    setting=("config abea2d6b9145", "gcc (Debian 12.2.0-14) 12.2.0", "bench of head (1af2ff43f14d)"),
    notes=("built in a sandbox without network or your home (bubblewrap)",),
    failures=(),
    folder=None,
)
STEP = "correct it and push: the new head is measured by itself"


def row(
    benchmark: str, change: float | None, verdict: str, *, mode: Mode = "walltime", **more: Any
) -> ComparisonRow:
    """A row of a benchmark in nanoseconds; `params` as a mapping, `half` is half the width of
    the interval.
    """
    params: Mapping[str, str] = more.pop("params", {})
    half: float = more.pop("half", 0.0005 if mode == "icount" else 0.007)
    base = more.pop("base", 185.77)
    values = {
        "suite": "local-storage",
        "benchmark": benchmark,
        "params": params,
        "metric": "hits-latency",
        "unit": "ns/op",
        "better": "lower",
        "primary": True,
        "platform": "emulated-x86-64" if mode == "icount" else "amd-rome",
        "mode": mode,
        "threshold": 0.002 if mode == "icount" else 0.01,
        "interval_level": None if mode == "icount" else 0.99,
        "n_base": 2 if mode == "icount" else 21,
        "n_head": 2 if mode == "icount" else 21,
        "base": base,
        "head": None if change is None else base * (1 + change),
        "change": change,
        "ci_low": None if change is None else change - half,
        "ci_high": None if change is None else change + half,
        "p": None,
        "q": None,
        "mde": None if change is None else 0.009,
        "verdict": verdict,
        "reason": "",
        "needs": None,
        "notes": (),
    }
    return ComparisonRow(**{**values, **more})


def compared(*rows: ComparisonRow, **more: Any) -> ComparisonSet:
    mode: Mode = rows[0].mode or "walltime" if rows else "walltime"
    facts = {"commit": "0" * 40, "compiler": "gcc 12.2.0", "microcode": "0x830107c"}
    control = Control(rows=12, published=0, largest=0.0061) if mode == "walltime" else None
    values = {
        "base": SideFacts(label="1f9feb4e1fdd (bpf: Base)", facts=facts, boots=2 if mode == "icount" else 21),
        "head": SideFacts(
            label="a3c5d0e94cbb (bpf: Head)",
            facts={**facts, "commit": "1" * 40},
            boots=2 if mode == "icount" else 21,
        ),
        "platform": rows[0].platform if rows else None,
        "mode": mode,
        "notable": 0.01,
        "alpha": 0.01,
        "rows": rows,
        "left_out": (),
        "control": control,
    }
    return ComparisonSet(**{**values, **more})


def state(*progresses: Progress | tuple[str, Mode, Progress], **more: Any) -> PullRequestState:
    """On amd-rome and intel-skylake in walltime, where nothing else is said."""
    places: Sequence[tuple[str, Mode]] = (("amd-rome", "walltime"), ("intel-skylake", "walltime"))
    targets = tuple(
        (
            TargetState(platform=each[0], mode=each[1], progress=each[2])
            if isinstance(each, tuple)
            else TargetState(platform=place[0], mode=place[1], progress=each)
        )
        for each, place in zip(progresses, (*places, *places), strict=False)
    )
    values = {
        "sequence": 7,
        "title": "bpf: Inline the local storage lookup",
        "base": BASE,
        "head": HEAD,
        "targets": targets,
        "repeat": REPEAT,
        "links": (
            Link(name="comparison", url=f"https://bench.example.org/compare/{BASE[:12]}...{HEAD[:12]}"),
        ),
    }
    return PullRequestState(**{**values, **more})


SEQ, INT, CONTROL = (
    "local-storage-cache-seq-get",
    "local-storage-cache-int-get",
    "local-storage-cache-hashmap-control",
)


def maps(benchmark: str, changes: Mapping[int, tuple[float, str]], **more: Any) -> list[ComparisonRow]:
    return [
        row(benchmark, change, verdict, params={"nr_maps": str(count)}, **more)
        for count, (change, verdict) in changes.items()
    ]


def calm() -> list[ComparisonRow]:
    counts = (1, 10, 16, 17, 24, 32, 100)
    return [
        *maps(SEQ, dict.fromkeys(counts, (0.0012, "unchanged"))),
        *maps(INT, dict.fromkeys(counts, (-0.0021, "unchanged"))),
        row(CONTROL, 0.0003, "unchanged", params={"hashmap_nr_keys_used": "1000"}),
    ]


def regressed(size: float = 0.0481, **more: Any) -> list[ComparisonRow]:
    return [row(SEQ, size, "regression", params={"nr_maps": "16"}, **more), *calm()[3:]]


def mixed() -> list[ComparisonRow]:
    falling = {1: (0.001, "unchanged"), 10: (0.002, "unchanged"), 16: (0.003, "unchanged")}
    falling |= {
        17: (-0.031, "improvement"),
        24: (-0.0452, "improvement"),
        32: (-0.061, "improvement"),
        100: (-0.072, "improvement"),
    }
    gone = row(
        "htab-mem",
        None,
        "missing",
        suite="htab-mem",
        params={"use-case": "overwrite"},
        reason="head did not measure it",
    )
    throughput = row(
        "ringbuf-libbpf",
        -0.062,
        "regression",
        suite="ringbuf",
        metric="hits",
        unit="M ops/s",
        better="higher",
        base=24.1,
    )
    return [
        *maps(SEQ, falling),
        *maps(INT, {16: (0.0213, "regression"), 17: (0.0001, "unchanged")}),
        throughput,
        gone,
    ]


def confirmed(*rows: ComparisonRow) -> frozenset[Any]:
    return frozenset(
        (each.case, each.metric) for each in rows if each.verdict in ("regression", "improvement")
    )


def measured(*rows: ComparisonRow, **more: Any) -> Measured:
    return Measured(compared=compared(*rows), **{"context": CONTEXT, "confirmed": confirmed(*rows), **more})


BUILD_LOG = "\n".join(
    [
        *(f"  CC      kernel/bpf/file{number}.o" for number in range(40)),
        "  CC      kernel/bpf/bpf_local_storage.o",
        "kernel/bpf/bpf_local_storage.c:1021:2: error: expected ';' before 'return'",
        " 1021 |  return __bpf_local_storage_lookup(local_storage, smap);",
        "      |  ^~~~~~",
        "make[4]: *** [scripts/Makefile.build:229: kernel/bpf/bpf_local_storage.o] Error 1",
        *(f"make[{number}]: *** waiting" for number in range(20)),
    ]
)
OOPS = "\n".join(
    [
        *(f"[   12.{number:06d}] quiet line" for number in range(30)),
        "[   13.337000] BUG: kernel NULL pointer dereference, address: 0000000000000100",
        "[   13.337001] #PF: supervisor read access in kernel mode",
        "[   13.337002] Oops: 0000 [#1] PREEMPT SMP NOPTI",
        "[   13.337003] RIP: 0010:bpf_local_storage_lookup+0x12/0x80",
    ]
)


def many(count: int = 3000) -> list[ComparisonRow]:
    """Three thousand cases with two parameters, of which neighbours differ in one that is no number or did
    not change; a third of them changed, each fourth by itself.
    """
    rows = []
    for number in range(count):
        params = {"size": str(number % 60), "batch": f"b{number // 60}"}
        if number % 3:
            rows.append(row("many-cases", 0.0004, "unchanged", params=params))
        else:
            verdict = "improvement" if number % 4 == 0 else "regression"
            rows.append(
                row(
                    "many-cases",
                    (-0.03 if verdict == "improvement" else 0.04) * (1 + number / 9000),
                    verdict,
                    params=params,
                )
            )
    return rows


def of_a_library() -> list[ComparisonRow]:
    """Two benchmarks of a Go library in three units."""
    changes = {
        "ns/op": ((-0.9047, "improvement", 55890.0), (4.8528, "regression", 7232.0)),
        "B/op": ((-0.9548, "improvement", 6016.0), (0.0002, "unchanged", 896.0)),
        "allocs/op": ((-0.9, "improvement", 50.0), (None, "missing", 12.0)),
    }
    return [
        row(name, change, verdict, mode="icount", suite="cilium-ebpf", metric=unit, unit=unit, base=base)
        for unit, cells in changes.items()
        for name, (change, verdict, base) in zip(("MapFromFD", "BatchLookupPerCPUHash"), cells, strict=True)
    ]


def states() -> dict[str, PullRequestState]:
    """By name, everything that golden files are kept of."""
    calm_rows = calm()
    open_row = row(
        INT,
        0.0131,
        "inconclusive",
        params={"nr_maps": "10"},
        half=0.02,
        reason="about 40 boots per kernel would decide (25 to 64)",
        needs=40,
    )
    gone = [
        row(
            SEQ,
            None,
            "invalid",
            params={"nr_maps": count},
            reason="measured in different environments: compiler: gcc 12 and gcc 13",
        )
        for count in ("1", "16", "100")
    ]
    broken = Failure(whose="kernel", message="head: it does not build", next_step=STEP, evidence=BUILD_LOG)
    oops = ReportContext(
        setting=CONTEXT.setting,
        notes=(),
        failures=(ArmFailure(arm="head", message="it died in local-storage-cache-seq-get", evidence=OOPS),),
        folder=None,
    )
    dead = [
        row(SEQ, None, "failed", params={"nr_maps": count}, reason="head: it died") for count in ("1", "16")
    ]
    exact = maps(
        INT,
        {
            16: (0.0481, "regression"),
            17: (0.0431, "regression"),
            24: (0.0422, "regression"),
            32: (0.04, "unchanged"),
        },
        mode="icount",
    )
    rome = measured(*regressed())
    outcomes = tuple(
        CaseOutcome(case=CaseKey("sockmap", name), status="unsupported", reason="came with linux about 6.16")
        for name in ("sockmap", "sockmap-two")
    )
    return {
        "unchanged": state(measured(*calm_rows), measured(*calm_rows)),
        "one-platform": state(rome, measured(*calm_rows)),
        "mixed": state(
            replace(rome, compared=compared(*mixed(), left_out=outcomes), confirmed=confirmed(*mixed()[:-2])),
            measured(*calm_rows),
            ("emulated-x86-64", "icount", measured(*exact)),
        ),
        "inconclusive": state(measured(open_row)),
        "build-failure": state(Failed(failure=broken), Failed(failure=broken)),
        "go-library": state(
            ("emulated-x86-64", "icount", measured(*of_a_library())), by_unit=True, repeat=REPEAT_OF_A_LIBRARY
        ),
        "oops": state(measured(*dead, context=oops)),
        "nothing-comparable": state(measured(*gone)),
        "superseded": state(Superseded(by=NEXT), Superseded(by=NEXT)),
        "cancelled": state(Cancelled(by="octocat"), Cancelled(by="octocat")),
        "3000-rows": state(measured(*many()), measured(*many())),
        "waiting": state(Waiting(), Waiting()),
        "queued": state(Queued(position=3, seconds=2700), Queued(position=1, seconds=600)),
        "building": state(Building(seconds=1500), Queued(position=1, seconds=2400)),
        "booting": state(Booting(done=7, planned=21, seconds=900), rome),
        "second-version": state(
            measured(*regressed(0.0212)),
            series=Series(identity="1021473", version=2),
            earlier=EarlierVersion(
                version=1,
                head=BASE,
                compared={("amd-rome", "walltime"): compared(*regressed(), row(INT, 0.03, "regression"))},
            ),
        ),
    }
