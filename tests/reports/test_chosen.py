"""Which commit is base and which suites are measured stands in the first lines of every report."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from arms import SEQ_GET, arm, exact

from cliffwatch.comparing.compare import compare
from cliffwatch.comparing.comparison import ComparisonSet
from cliffwatch.reports.commit import commit_report
from cliffwatch.reports.context import NO_CONTEXT
from cliffwatch.reports.html import html_report
from cliffwatch.reports.json_report import comparison_document
from cliffwatch.reports.mail.reply import Reply, reply_report
from cliffwatch.reports.mail.report import mail_report
from cliffwatch.reports.markdown import markdown_report
from cliffwatch.reports.several.arms import commit_of_arms, markdown_of_arms, text_of_arms
from cliffwatch.reports.text import text_report

CHOSEN = (
    "Base is 1234567890ab, the merge base of bpf-next and topic: 2 commits of topic",
    "Suites by what head changes in kernel/bpf/ringbuf.c: ringbufs (executes __bpf_ringbuf_reserve)",
)
CONTEXT = replace(NO_CONTEXT, chosen=CHOSEN)


def compared() -> ComparisonSet:
    found = compare(arm("base", {SEQ_GET: [1.0]}), arm("head", {SEQ_GET: [1.517]}), exact)
    assert isinstance(found, ComparisonSet)
    return found


SEVERAL = [compared(), compared()]
REPLY = Reply(to="a@example.org", sender_name="A", sender="a@example.org")
REPORTS = {
    "text": text_report(compared(), CONTEXT, colour=False),
    "commit": commit_report(compared(), CONTEXT),
    "markdown": markdown_report(compared(), CONTEXT),
    "mail": mail_report(compared(), CONTEXT),
    "reply": reply_report(compared(), CONTEXT, REPLY, date=datetime(2026, 1, 1, tzinfo=UTC)),
    "html": html_report(compared(), CONTEXT),
    "text of arms": text_of_arms(SEVERAL, CONTEXT, colour=False, all_metrics=False),
    "commit of arms": commit_of_arms(SEVERAL, CONTEXT),
    "markdown of arms": markdown_of_arms(SEVERAL, CONTEXT),
}


@pytest.mark.parametrize("report", REPORTS.values(), ids=list(REPORTS))
def test_what_was_chosen_is_said_once(report: str) -> None:
    words = " ".join(report.replace("\\", "").split())

    for sentence in CHOSEN:
        assert words.count(sentence) == 1


def test_the_answer_and_the_rows_stand_before_it_on_a_terminal() -> None:
    lines = REPORTS["text"].splitlines()

    assert lines[0].startswith("1 slower")
    assert lines.index(CHOSEN[0]) > next(number for number, line in enumerate(lines) if "1.517" in line)


def test_programs_get_it_too() -> None:
    assert comparison_document(compared(), CONTEXT).chosen == CHOSEN
