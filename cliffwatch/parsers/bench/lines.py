"""The lines that `bench` prints, as patterns.

Source of the formats: tools/testing/selftests/bpf/bench.c and benchs/*.c, linux 5.9 to 7.2. Blanks are matched loosely,
because mail and web pages change them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Role = Literal["iter", "summary", "final", "failure", "doubt"]
"""iter: a reading; summary: bench's own account of the readings; final: a value without readings before it."""

_N = r"(-?(?:\d+(?:\.\d*)?|inf|nan))"
_ITER = r"Iter\s+(?P<iter>\d+)\s+\(\s*(?P<jitter>-?\d+(?:\.\d*)?)us\):\s*"
_PM = rf"\s*(?:±|\+/-|\+-)\s*{_N}\s*"


def _named(pattern: str, *names: str) -> re.Pattern[str]:
    """Gives the plain groups of a pattern their names, in order; `_` leaves a group out."""
    rest = iter(names)

    def group(_: re.Match[str]) -> str:
        name = next(rest)
        return "(?:" if name == "_" else f"(?P<{name}>"

    return re.compile(re.sub(r"\((?!\?)", group, pattern.replace(r"\(", "\0")).replace("\0", r"\(") + r"\s*$")


_RATE_PER_PROD = rf"{_N}\s*M/s\s*\(\s*{_N}\s*M/prod\)"
_SPEED = rf"{_N}\s*MB/s"
_CALLS = rf"\s*\(\s*{_N}\s*calls/s\)"


@dataclass(frozen=True, slots=True)
class LineForm:
    """One form of line: which kind prints it, what it is for, and its pattern."""

    kind: str
    role: Role
    pattern: re.Pattern[str]


FORMS: tuple[LineForm, ...] = (
    LineForm(
        "hits-drops",
        "iter",
        _named(
            rf"{_ITER}hits\s+{_RATE_PER_PROD},\s*drops\s+{_N}\s*M/s(?:,\s*total operations\s+{_N}\s*M/s)?",
            *("hits", "per_prod", "drops", "total"),
        ),
    ),
    LineForm(
        "hits-drops",
        "summary",
        _named(
            rf"Summary:\s*hits\s+{_N}{_PM}M/s\s*\(\s*{_N}\s*M/prod\),\s*drops\s+{_N}{_PM}M/s"
            rf"(?:,\s*total operations\s+{_N}{_PM}M/s)?",
            *("hits", "_", "per_prod", "drops", "_", "total", "_"),
        ),
    ),
    LineForm(
        "false-hits",
        "iter",
        _named(
            rf"{_ITER}(-?\d+) false hits of (-?\d+) total operations\. Percentage =\s*{_N}\s*%",
            *("false_hits", "total", "percentage"),
        ),
    ),
    LineForm(
        "false-hits",
        "summary",
        _named(
            rf"Summary:\s*(-?\d+) false hits of (-?\d+) total operations\. Percentage =\s*{_N}\s*%",
            *("false_hits", "total", "percentage"),
        ),
    ),
    LineForm(
        "ops",
        "iter",
        _named(
            rf"{_ITER}hits\s+{_N}\s*(?P<letter>[MKk])/s\s*\(\s*{_N}\s*[MKk]/prod\)",
            *("hits", "per_prod"),
        ),
    ),
    LineForm(
        "ops",
        "summary",
        _named(
            rf"Summary:\s*throughput\s+{_N}{_PM}(?P<letter>[MKk]) ops/s\s*\(\s*{_N}\s*[MKk] ops/prod\),"
            rf"\s*latency\s+{_N}\s*(?P<time>ns|us|ms)/op",
            *("hits", "_", "per_prod", "latency"),
        ),
    ),
    LineForm(
        "local-storage",
        "iter",
        _named(rf"{_ITER}hits\s+{_N}\s*M/s\s+important_hits\s+{_N}\s*M/s", "hits", "important"),
    ),
    LineForm(
        "local-storage",
        "summary",
        _named(
            rf"Summary:\s*hits throughput\s+{_N}{_PM}M ops/s,\s*hits latency\s+{_N}\s*ns/op,"
            rf"\s*important_hits throughput\s+{_N}{_PM}M ops/s",
            *("hits", "_", "latency", "important", "_"),
        ),
    ),
    LineForm(
        "local-storage-create",
        "iter",
        _named(
            rf"{_ITER}creates\s+{_N}\s*k/s\s*\(\s*{_N}\s*k/prod\),\s*{_N}\s*kmallocs/create",
            *("creates", "per_prod", "kmallocs"),
        ),
    ),
    LineForm(
        "local-storage-create",
        "summary",
        _named(
            rf"Summary:\s*creates\s+{_N}{_PM}k/s\s*\(\s*{_N}\s*k/prod\),\s*{_N}\s*kmallocs/create",
            *("creates", "_", "per_prod", "kmallocs"),
        ),
    ),
    LineForm(
        "local-storage-create",
        "failure",
        re.compile(r"(?:socket\(\)|pthread_create\(\)) errors (?P<errors>\d+) create_errs (?P<create>\d+)\s*$"),
    ),
    LineForm(
        "htab-mem",
        "iter",
        _named(rf"{_ITER}per-prod-op\s+{_N}\s*k/s,\s*memory usage\s+{_N}\s*MiB", "ops", "memory"),
    ),
    LineForm(
        "htab-mem",
        "summary",
        _named(
            rf"Summary:\s*per-prod-op\s+{_N}{_PM}k/s,\s*memory usage\s+{_N}{_PM}MiB,\s*peak memory usage\s+{_N}\s*MiB",
            *("ops", "_", "memory", "_", "peak"),
        ),
    ),
    LineForm(
        "tasks-trace",
        "iter",
        _named(rf"Iter\s+(?P<iter>\d+)\s+avg tasks_trace grace period latency\s+{_N}\s*ns", "latency"),
    ),
    LineForm(
        "tasks-trace",
        "iter",
        _named(rf"Iter\s+(?P<iter>\d+)\s+avg ticks per tasks_trace grace period\s+{_N}", "ticks"),
    ),
    LineForm(
        "tasks-trace",
        "summary",
        _named(
            rf"SUMMARY tasks_trace grace period latency\s+avg {_N}\s*us\s+stddev {_N}\s*us",
            *("latency", "_"),
        ),
    ),
    LineForm(
        "tasks-trace",
        "summary",
        _named(rf"SUMMARY ticks per tasks_trace grace period\s+avg {_N}\s+stddev {_N}", "ticks", "_"),
    ),
    LineForm(
        "hashmap-lookup",
        "final",
        _named(
            rf"cpu(?P<cpu>\d+):\s*lookup\s+{_N}M{_PM}M events/sec\s*\(approximated from (\d+) samples of ~(\d+)ms\)",
            *("lookups", "_", "_", "_"),
        ),
    ),
    LineForm(
        "hashmap-full-update",
        "final",
        _named(r"(?P<cpu>\d+):hash_map_full_perf (-?\d+) events per sec", "updates"),
    ),
    LineForm(
        "sockmap",
        "iter",
        _named(
            rf"{_ITER}Send Speed\s+{_SPEED}{_CALLS},\s*BPF Speed\s+{_SPEED},\s*Rcv Speed\s+{_SPEED}{_CALLS}",
            *("send", "_", "bpf", "receive", "_"),
        ),
    ),
    # The number after ± is the mean rate, no deviation; the total in front of it depends on the duration alone.
    LineForm(
        "sockmap",
        "summary",
        _named(rf"Summary:\s*total trans\s+(\d+)\s*MB{_PM}MB/s", "_", "receive"),
    ),
    LineForm(
        "timing",
        "final",
        _named(
            rf"(?P<name>[\w.-]+):\s*median {_N} ns/op,\s*stddev {_N},\s*p99 {_N}\s*\((\d+) samples\)",
            *("latency", "_", "p99", "count"),
        ),
    ),
    LineForm(
        "timing",
        "final",
        _named(
            rf"RESULT scenario=(?P<scenario>[\w.-]+) samples=(\d+) median={_N} stddev={_N} cv={_N} min={_N} p99={_N} max={_N}",
            *("count", "latency", "_", "_", "_", "p99", "_"),
        ),
    ),
    LineForm("timing", "doubt", re.compile(r"WARNING: (?P<doubt>proportionality check failed.*)$")),
    LineForm("timing", "failure", re.compile(r"(?P<failure>No timing samples collected\.)\s*$")),
)

_CHATTER = re.compile(
    r"(?:Benchmark '.*' started\.|Spun up \d+ procs .*|create socket fd .*|Available benchmarks:|- \S+|Calibrat.*|"
    r"\s*\S+ scenarios?:.*)\s*$"
)
SET_UP = re.compile(r"Setting up benchmark '(?P<name>[^']*)'\.\.\.\s*")
LIBBPF = re.compile(r"libbpf: (?P<text>.*)")


@dataclass(frozen=True, slots=True)
class Found:
    """A line that has a known form, and its fields as text."""

    form: LineForm
    fields: Mapping[str, str]


def recognise(text: str) -> Found | None:
    """The form of a line, or None for one that has none."""
    stripped = text.strip()
    for form in FORMS:
        match = form.pattern.match(stripped)
        if match:
            return Found(form, {name: value for name, value in match.groupdict().items() if value is not None})
    return None


def is_chatter(text: str) -> bool:
    """Whether a line is one that bench prints besides its results."""
    return not text.strip() or bool(_CHATTER.match(text.strip()))
