"""Sums up a pull request in one line: the heading of its comment and title of its check run.

No untrusted text.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cliffwatch.comparing.comparison import BETWEEN_MEASUREMENTS, CHANGES
from cliffwatch.comparing.ordering import CHANGED, COUNTED, detectable
from cliffwatch.counting import count_noun, format_duration
from cliffwatch.pull_request.news import News, count_cases, is_in_turns, names_of
from cliffwatch.pull_request.state import (
    Booting,
    Building,
    Cancelled,
    Failed,
    Measured,
    Progress,
    PullRequestState,
    Queued,
    Superseded,
    Waiting,
)
from cliffwatch.reports import figures
from cliffwatch.reports.context import count_differences
from cliffwatch.reports.markdown import escape_markdown, word, wrap
from cliffwatch.reports.several.across import sentence_across

PENDING = (Waiting, Queued, Building, Booting)
SHORT = 12
"""Digits of an abbreviated commit."""


def verdict(state: PullRequestState, news: News) -> str:
    """Returns the counts of verdicts, `1 regression, 11 unchanged`, or the progress."""
    kinds = {type(each.progress) for each in state.targets}
    pending = [each for each in state.targets if isinstance(each.progress, PENDING)]
    if not state.targets:
        return "nothing is measured here"
    if news.measured:
        return _of_rows(news) + (" so far" if pending else "") + _count_failed(state)
    if pending:
        said = {progress_words(each.progress) for each in pending}
        return said.pop() if len(said) == 1 else _describe_furthest(state)
    if Failed in kinds:
        return _of_failures(state)
    return "superseded by a newer push" if Superseded in kinds else "cancelled"


def _of_rows(news: News) -> str:
    verdicts = Counter(row.verdict for row in news.rows)
    if not news.rows:
        return "nothing comparable"
    decided = sum(verdicts[each] for each in (*CHANGED, "unchanged", "inconclusive"))
    order = ("failed", *CHANGES, *(each for each in COUNTED if each not in ("failed", *CHANGES)))
    parts = {each: _count_verdicts(verdicts[each], each) for each in order if verdicts[each]}
    changed = [each for each in parts if each in CHANGED]
    if changed and not news.in_turns():
        parts[changed[0]] = count_differences(
            sum(verdicts[each] for each in changed), [parts[each] for each in changed]
        )
        parts = {each: part for each, part in parts.items() if each not in changed[1:]}
    counts = ", ".join(parts.values())
    if not decided:
        return f"nothing comparable: {counts}"
    if any(verdicts[each] for each in CHANGED):
        return counts
    return f"no change: {counts}" if verdicts["unchanged"] == decided else f"no change shown: {counts}"


def _count_verdicts(count: int, each: str) -> str:
    plural = {"regression": "regressions", "improvement": "improvements"}.get(each, each)
    words = {"disagree": "with opposite changes"}.get(each, each if count == 1 else plural)
    return f"{count:,} {words}"


def _count_failed(state: PullRequestState) -> str:
    failed = sum(isinstance(each.progress, Failed) for each in state.targets)
    return f"; {count_noun(failed, 'target')} failed" if failed else ""


def _of_failures(state: PullRequestState) -> str:
    parties = {each.progress.failure.whose for each in state.targets if isinstance(each.progress, Failed)}
    if "kernel" in parties:
        return "the kernel failed, nothing was compared"
    if "usage" in parties:
        return "not possible as asked for, nothing was compared"
    return "a host failed, nothing was compared"


def _describe_furthest(state: PullRequestState) -> str:
    """Describes the target that has made the most progress."""
    order = (Waiting, Queued, Building, Booting)
    pending = [each.progress for each in state.targets if isinstance(each.progress, PENDING)]
    furthest = max(
        pending, key=lambda each: (order.index(type(each)), each.done if isinstance(each, Booting) else 0)
    )
    if isinstance(furthest, Booting):
        return f"measuring, {progress_words(furthest)}"
    return progress_words(furthest)


def progress_words(progress: Progress) -> str:
    """Describes the progress: `queued at position 3, done in about 45 min`. Contains no untrusted text."""
    match progress:
        case Queued(position=position, seconds=seconds):
            return (
                f"queued{'' if position is None else f' at position {position:,}'}{_format_expected(seconds)}"
            )
        case Building(seconds=seconds):
            return f"building{_format_expected(seconds)}"
        case Booting(done=done, planned=planned, seconds=seconds):
            boots = (
                f"{count_noun(done, 'boot')} done" if planned is None else f"boots {done:,} of {planned:,}"
            )
            return f"{boots}{_format_expected(seconds)}"
        case Failed(failure=failure):
            return {"kernel": "the kernel failed", "usage": "not possible"}.get(
                failure.whose, "the host failed"
            )
    return _PLAIN[type(progress)]


_PLAIN: Mapping[type[Progress], str] = {
    Waiting: "waiting for a maintainer",
    Measured: "measured",
    Cancelled: "cancelled",
    Superseded: "superseded",
}


def _format_expected(seconds: float | None) -> str:
    """Returns the expected time in whole minutes: a comment is rarely updated."""
    if seconds is None:
        return ""
    minutes = max(1, round(seconds / 60))
    words = f"{minutes} min" if minutes < 60 else format_duration(minutes * 60)
    return f", done in about {words}"


def chosen_lines(news: News) -> Iterator[str]:
    """Yields lines on the chosen suites and commits. Targets with equal texts share a line."""
    said: dict[str, list[str]] = {}
    for target, measured in zip(news.targets, news.measured, strict=True):
        for text in measured.context.chosen:
            said.setdefault(text, []).append(target.name)
    for text, names in said.items():
        where = [] if len(names) == len(news.targets) else [word(", ".join(names))]
        yield from (wrap(": ".join([*where, f"{escape_markdown(text)}."])), "")


def summary_sentences(news: News) -> Sequence[str]:
    """Returns sentences on the largest change, changes on one target alone, and the fresh boots."""
    sentences = []
    if any(each.compared.mode == "icount" for each in news.measured):
        sentences.append("Figures of icount are instructions, not time.")
    largest = news.largest()
    if largest is not None:
        row, target = largest
        apart = (
            ""
            if is_in_turns(news.measured[news.targets.index(target)].compared)
            else f" {BETWEEN_MEASUREMENTS}"
        )
        where = f" on {word(target.name)}" if len(news.targets) > 1 else ""
        sentences.append(
            f"Largest {_what(row.verdict)}{apart}:"
            f" {figures.step(row) if row.change is None else figures.percent(row.change)}{where}."
        )
    elif shown := _detectable(news):
        sentences.append(f"These boots would have shown changes from {shown} on.")
    _, *alone = sentence_across(
        news.rows, [replace(each, name=word(each.name)) for each in news.targets]
    ).split("; ")
    sentences += [f"{each[0].upper()}{each[1:]}." for each in alone]
    worse, confirmed = count_cases(news.regressions()), count_cases(news.confirmed())
    if worse and confirmed == worse:
        sentences.append("What got worse is confirmed on fresh boots.")
    elif worse:
        sentences.append(
            f"Of {count_noun(worse, 'case')} that got worse {confirmed} {'is' if confirmed == 1 else 'are'}"
            " confirmed on fresh boots."
        )
    return sentences


def _what(verdict: str) -> str:
    return "change" if verdict == "changed" else verdict


def _detectable(news: News) -> str:
    """Returns the median detectable change per target: `0.9 % (amd-rome), 0.2 % (intel-skylake)`."""
    found = [
        (detectable([cell for row in news.rows if (cell := row.cells[index]) is not None]), target)
        for index, target in enumerate(news.targets)
    ]
    one = len(news.targets) == 1
    return ", ".join(
        f"{figures.size(shown.median)}{'' if one else f' ({word(target.name)})'}"
        for shown, target in found
        if shown is not None
    )


def pending_lines(state: PullRequestState) -> list[tuple[str, Progress]]:
    """Returns the targets without a comparison: names and progress."""
    names = names_of(state.targets)
    return [
        (name, each.progress)
        for name, each in zip(names, state.targets, strict=True)
        if not isinstance(each.progress, Measured)
    ]
