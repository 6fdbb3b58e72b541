"""What mail, terminals and kernel messages do to a pasted output changes nothing."""

import pytest

from cliffwatch.parsers.bench.parse import parse_bench

HITS = """\
Setting up benchmark 'trig-fentry'...
Benchmark 'trig-fentry' started.
Iter   0 (500.000us): hits    1.000M/s (  1.000M/prod), drops    0.000M/s, total operations    1.000M/s
Iter   1 (  0.000us): hits    5.900M/s (  5.900M/prod), drops    0.000M/s, total operations    5.900M/s
Iter   2 (  0.000us): hits    6.100M/s (  6.100M/prod), drops    0.000M/s, total operations    6.100M/s
Summary: hits    6.000 ± 0.141M/s (  6.000M/prod), drops    0.000 ± 0.000M/s, total operations    6.000 ± 0.141M/s
"""

DECORATIONS = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "no-break spaces": lambda text: text.replace("    ", "\u00a0 \u00a0 "),
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "quoted twice": lambda text: "".join(f">> {line}\n" for line in text.splitlines()),
    "colour": lambda text: text.replace("hits", "\x1b[1;32mhits\x1b[0m"),
    "kernel messages between": lambda text: text.replace(
        "\nIter", "\n[   12.345678] perf: interrupt took too long\nIter"
    ),
    "a kernel message within": lambda text: text.replace(
        "5.900M/s (  ", "5.900M/s ([   12.345678] random: crng init done\n  "
    ),
    "control characters": lambda text: text.replace("hits", "h\x07i\x7fts"),
    "byte order mark": lambda text: "\ufeff" + text,
}


@pytest.mark.parametrize("how", DECORATIONS)
def test_what_mail_and_terminals_do_to_a_text_changes_nothing(how: str) -> None:
    plain, decorated = parse_bench(HITS), parse_bench(DECORATIONS[how](HITS))

    assert decorated.samples == plain.samples
    assert decorated.problems == ()
