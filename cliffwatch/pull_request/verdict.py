"""Sums up a pull request in one line: the heading of its comment and title of its check run.

No untrusted text.
"""

from collections.abc import Iterator, Mapping, Sequence

from cliffwatch.counting import count_noun, format_duration
from cliffwatch.pull_request.news import News, count_cases, names_of
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
from cliffwatch.reports.markdown import escape_markdown, one_line, word

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
        return news.answer().result + (" so far" if pending else "") + _count_failed(state)
    if pending:
        said = {progress_words(each.progress) for each in pending}
        return said.pop() if len(said) == 1 else _describe_furthest(state)
    if Failed in kinds:
        return _of_failures(state)
    return "superseded by a newer push" if Superseded in kinds else "cancelled"


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
        yield from (one_line(": ".join([*where, f"{escape_markdown(text)}."])), "")


def summary_sentences(news: News) -> Sequence[str]:
    """Returns sentences on what changes have in common, their cause, and the fresh boots."""
    sentences = [news.answer().why] if news.answer().why else []
    if any(each.compared.mode == "icount" for each in news.measured):
        sentences.append("Figures of icount are instructions, not time.")
    worse, confirmed = count_cases(news.regressions()), count_cases(news.confirmed())
    if worse and confirmed == worse:
        sentences.append("What got worse is confirmed on fresh boots.")
    elif worse:
        sentences.append(
            f"Of {count_noun(worse, 'case')} that got worse {confirmed} {'is' if confirmed == 1 else 'are'}"
            " confirmed on fresh boots."
        )
    return sentences


def pending_lines(state: PullRequestState) -> list[tuple[str, Progress]]:
    """Returns the targets without a comparison: names and progress."""
    names = names_of(state.targets)
    return [
        (name, each.progress)
        for name, each in zip(names, state.targets, strict=True)
        if not isinstance(each.progress, Measured)
    ]
