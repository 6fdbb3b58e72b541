"""The sentences that every form of the report on releases shares."""

from collections.abc import Iterator, Sequence

from cliffwatch.comparing.attribution.changes import FunctionChange, Move
from cliffwatch.comparing.attribution.operations import Function
from cliffwatch.comparing.attribution.sentences import describe_move
from cliffwatch.comparing.comparison import CHANGES, DECIDED
from cliffwatch.counting import count_noun, format_duration
from cliffwatch.reports import figures
from cliffwatch.reports.several.releases.audit import Audit, AuditRow, Step

_MOST_FUNCTIONS = 3
_MOST_LARGEST = 10

SECTIONS = ("text", "init text", "constants", "data", "bss")

HOW = (
    "Measured under icount: insns/op are the instructions of an operation. Most repeat exactly; the others"
    " have a threshold of their own. Times are those of the emulated clock, which counts instructions. Other"
    " units are what the benchmark itself reports. Caches, branch prediction and contention are in none."
)

SIGNS = (
    "▲ slower or worse, ▼ faster or better, ≠ changed; without a sign below the threshold of the case,"
    " ~ within its noise; ? ! x not judged; - no value in one of the releases."
)

SUBJECT = "BPF from linux"
"""First words of the title."""


def title(audit: Audit) -> str:
    return f"{SUBJECT} {audit.releases[0].version} to {audit.releases[-1].version}"


def setting(audit: Audit) -> str:
    """How it was measured: profile, tools, time."""
    words = (
        f"{count_noun(len(audit.suites), 'suite')} of profile {audit.profile}",
        *audit.setting,
        f"{format_duration(audit.seconds)} of building and measuring",
    )
    return ", ".join(words)


def counts(audit: Audit) -> Iterator[str]:
    """A sentence for each pair of releases: how many rows changed."""
    for position, release in enumerate(audit.releases[1:]):
        steps = [
            step
            for suite in audit.suites
            for row in suite.rows
            if (step := row.steps[position]) is not None and step.later == release.name
        ]
        if not steps:
            yield f"{release.name}: nothing is compared with it."
            continue
        for earlier in dict.fromkeys(step.earlier for step in steps):  # over a release without values, too
            pair = [step for step in steps if step.earlier == earlier]
            yield f"{earlier} to {release.name}: {_count_steps(pair)}, of {count_noun(len(pair), 'row')}."


def _count_steps(steps: Sequence[Step]) -> str:
    found = {verdict: sum(step.row.verdict == verdict for step in steps) for verdict in _VERDICTS}
    alone = sum(not step.has_both_values and step.row.verdict not in _VERDICTS for step in steps)
    rest = len(steps) - sum(found.values()) - alone
    counted = [f"{found[verdict]} {word}" for verdict, word in _VERDICTS.items()]
    counted += [f"{alone} measured in one of them alone"] if alone else []
    return ", ".join([*counted, *([f"{rest} not judged"] if rest else [])])


_VERDICTS = {
    "regression": "slower or worse",
    "improvement": "faster or better",
    "changed": "changed",
    "unchanged": "unchanged",
}


def row_name(row: AuditRow) -> str:
    """The case, and the metric if it is not the cost of an operation."""
    name = figures.case_name(row.case, row.metric)
    return f"{name}, {row.metric}" if row.is_verification else name


def largest(audit: Audit) -> Iterator[tuple[str, Sequence[tuple[AuditRow, Step]]]]:
    """The lists of largest changes, each with its heading."""
    yield "Largest regressions", audit.largest_steps("regression")[:_MOST_LARGEST]
    yield "Largest improvements", audit.largest_steps("improvement")[:_MOST_LARGEST]
    verified = audit.largest_verifications()[:_MOST_LARGEST]
    if verified:
        yield "Largest changes of the verifier's work", verified


def bench(row: AuditRow) -> str:
    return "each its own, not compared" if row.bench is None else row.bench


def values(row: AuditRow) -> Iterator[str]:
    """A text per release."""
    for cell in row.cells:
        yield "-" if cell.value is None else figures.value(cell.value)


def change(step: Step | None) -> str:
    """The change of a step: `▲ +4.91 %`; `~` within the noise; `-` if a release has no value.

    A row that was not judged has the sign of its verdict alone.
    """
    if step is None or not (step.has_both_values or step.row.verdict in CHANGES):
        return "-"
    sign = figures.SIGNS[step.row.verdict]
    told = step.row.change is not None or step.row.verdict in CHANGES
    return f"{sign} {figures.change(step.row)}".strip() if told else sign.strip() or "-"


def decided(step: Step | None) -> bool:
    return step is not None and step.row.verdict in DECIDED


FUNCTIONS = "functions, instructions per operation"
"""The heading over `cause`, where it does not say otherwise."""


def cause(step: Step) -> str:
    """The functions behind a change; empty if they are unknown.

    Instructions of a call, or averages, do not add up to the change: then only functions that changed its way
    are named.
    """
    found = step.functions
    if found is None or not found.changes:
        return ""
    apart = found.by_call or found.averaged
    behind = found.in_direction if apart else found.changes
    if not behind:
        return "no function changed in this direction"
    named = ", ".join(map(_function, behind[:_MOST_FUNCTIONS]))
    more = len(behind) - _MOST_FUNCTIONS
    words = f"{named}, and {count_noun(more, 'more function')}" if more > 0 else named
    if found.by_call:
        return f"of the case's instructions: {words}"
    if found.averaged:
        return f"{words} (average)"
    return words if found.explained else f"{words}; the rest is not attributed"


def configurations(audit: Audit) -> str:
    """Says that the releases do not take one configuration; empty if all do."""
    differing = {note for each in audit.releases for note in each.config_notes}
    if not differing:
        return ""
    return (
        f"Not every release takes the same configuration: {count_noun(len(differing), 'difference')},"
        " listed under Kernels. What such an option costs is in these numbers."
    )


def _function(each: FunctionChange) -> str:
    """`htab_map_hash +12.00`, with whether only one release executes it."""
    only = " (new)" if each.new else " (gone)" if each.gone else ""
    size = f"{each.change:+.2f}" if each.of_case is None else f"{each.of_case:+.1%}".replace("%", " %")
    return f"{each.function.name}{only} {size}"


def moved(audit: Audit) -> Iterator[str]:
    """Rows that report no change while cost moved between their functions.

    A line for all rows of a suite and step whose first move is between the same functions.
    """
    found: dict[tuple[str, tuple[Function, ...]], list[tuple[AuditRow, tuple[Move, ...]]]] = {}
    for row, step in _unchanged_steps(audit):
        moves = step.functions.moves if step.functions is not None and step.functions.hidden_in else ()
        if moves:
            where = f"{row.case.suite}, {step.earlier} to {step.later}"
            found.setdefault((where, moves[0].functions), []).append((row, moves))
    for (where, _), rows in found.items():
        first, moves = rows[0]
        named = (
            row_name(first)
            if len(rows) == 1
            else f"{count_noun(len(rows), 'row')}, such as {row_name(first)}"
        )
        yield f"{where}, {named}: {'; '.join(map(describe_move, moves[:_MOST_FUNCTIONS]))}"


def _unchanged_steps(audit: Audit) -> Iterator[tuple[AuditRow, Step]]:
    for suite in audit.suites:
        for row in suite.rows:
            steps = (step for step in row.steps if step is not None and step.row.verdict == "unchanged")
            yield from ((row, step) for step in steps)
