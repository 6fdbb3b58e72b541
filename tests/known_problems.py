"""Everything that parsers know to be wrong, each in a head beside a base that is well, and the words that
every report must have of it.
"""

import html
import re


def go(text: str) -> str:
    return f"goos: linux\npkg: m\n{text}"


GOOD = "BenchmarkA-8 100 10 ns/op\n" * 6
BOTH = go(GOOD + "BenchmarkB-8 100 50 ns/op\n" * 6)
BENCH = (
    "Setting up benchmark 'bloom-lookup'...\nBenchmark 'bloom-lookup' started.\n"
    + "".join(
        f"Iter   {number} (  1.000us): hits   10.000M/s ( 10.000M/prod), drops    0.000M/s, total operations "
        "  10.000M/s\n"
        for number in range(4)
    )
    + "Summary: hits   10.000 ± 0.000M/s ( 10.000M/prod), drops    0.000 ± 0.000M/s, total operations  "
    " 10.000 ± 0.000M/s\n"
)
CSV = "arm,boot,suite,benchmark,params,metric,unit,value\nhead,1,s,b,{},m,ns,3\n"
VERISTAT = "file_name,prog_name,verdict,total_insns\n"


# Base, head, and what every report must say of it.
PROBLEMS: dict[str, tuple[str, str, str]] = {
    "go: failed": (
        BOTH,
        go(GOOD + "--- FAIL: BenchmarkB\n    b_test.go:9: no such file\nFAIL\n"),
        "no such file",
    ),
    "go: failed late": (
        BOTH,
        go(GOOD + "BenchmarkB-8 \t--- FAIL: BenchmarkB-8\n    b_test.go:9: no such file\nFAIL\n"),
        "no such file",
    ),
    "go: one part failed": (
        go(GOOD + "BenchmarkB/x=1-8 100 5 ns/op\n" * 6),
        go(GOOD + "    --- FAIL: BenchmarkB/x=1\n        b_test.go:9: boo hoo\n--- FAIL: BenchmarkB\nFAIL\n"),
        "boo hoo",
    ),
    "go: failed before its parts": (
        go(GOOD + "BenchmarkB/x=1-8 100 5 ns/op\n" * 6),
        go(GOOD + "--- FAIL: BenchmarkB\n    b_test.go:9: boo hoo\nFAIL\n"),
        "boo hoo",
    ),
    "go: failed in some boots": (
        BOTH,
        go(GOOD + "BenchmarkB-8 100 50 ns/op\n" * 3 + "--- FAIL: BenchmarkB-8\n    b_test.go:9: flaky\n" * 3),
        "head failed in 3 of 6 boots",
    ),
    "go: panic": (
        BOTH,
        go(GOOD + "BenchmarkB-8 \tpanic: boom\n\ngoroutine 7 [running]:\nm.f()\nexit status 2\n"),
        "boom",
    ),
    "go: timed out": (
        BOTH,
        go(GOOD + "BenchmarkB-8 \t*** Test killed with quit: ran too long (11m0s).\n"),
        "ran too long",
    ),
    "go: skipped": (BOTH, go(GOOD + "--- SKIP: BenchmarkB\n    b_test.go:3: needs root\n"), "needs root"),
    "go: build failed": (BOTH, "FAIL\tm [build failed]\npkg: n\n" + GOOD, "build failed"),
    "go: cut off": (BOTH, go(GOOD + "BenchmarkB-8 \t"), "it was cut off"),
    "go: cut line": (BOTH, go(GOOD + "BenchmarkB-8 100 5"), "its line is cut off"),
    "go: no number": (BOTH, go(GOOD + "BenchmarkB-8 100 NaN ns/op\n" * 6), "'NaN' is not a number"),
    "go: no result": (BOTH, BOTH + "some words of somebody\n", "neither a result nor a setting"),
    "veristat: refused": (
        VERISTAT + "a.o,p,success,1000\na.o,q,success,5\n",
        VERISTAT + "a.o,p,failure,20\na.o,q,success,5\n",
        "the verifier refuses it",
    ),
    "veristat: too few columns": (
        VERISTAT + "a.o,p,success,1\n",
        VERISTAT + "a.o,p,success,1\na.o,q\n",
        "2 columns, but",
    ),
    "veristat: no number": (
        VERISTAT + "a.o,p,success,1\n",
        VERISTAT + "a.o,p,success,many\n",
        "'many' of total_insns",
    ),
    "bench: cut off": (BENCH, BENCH.partition("Summary")[0], "it was cut off"),
    "bench: failed": (
        BENCH,
        "Setting up benchmark 'bloom-lookup'...\nlibbpf: failed to load object 'bloom'\n",
        "failed to load object",
    ),
    "bench: summary says another": (
        BENCH,
        BENCH.replace("hits   10.000 ±", "hits   25.000 ±"),
        "the Summary says",
    ),
    "bench: unknown line": (
        BENCH,
        BENCH + "Hi all, here are numbers\n",
        "not a line that bench prints",
    ),
    "bencher: no value": (
        '{"a": {"latency": {"value": 3}}}',
        '{"a": {"latency": {"value": null}}}',
        "no finite value",
    ),
    "csv: no row": (
        CSV,
        CSV + "head,2,s,b,{},m,ns,few\n",
        "not a finite number",
    ),
}


def said(text: str) -> str:
    """A report without the marks of its format and where its lines break."""
    plain = html.unescape(text).replace("\\", "").replace("\N{ZERO WIDTH SPACE}", "")
    return re.sub(r"[\s|]+", " ", plain)
