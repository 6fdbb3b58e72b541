"""Whatever a tree, a pull request or an output is called: it changes nothing but its own text, and reaches
nobody.
"""

import re
from dataclasses import replace

import pytest
from github_html import LINKED, shown
from hypothesis import given
from hypothesis import strategies as st
from states import CONTEXT, STEP, compared, measured, regressed, row, state

from cliffwatch.failure import Failure
from cliffwatch.pull_request.comment import check_run, regression_comment, sticky_comment
from cliffwatch.pull_request.state import (
    Cancelled,
    EarlierVersion,
    Failed,
    Link,
    PullRequestState,
    Series,
    Superseded,
)
from cliffwatch.reports.context import ArmFailure
from cliffwatch.reports.markdown import block, code, one_line
from cliffwatch.samples import CaseOutcome

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<!-- cliffwatch sticky 999 -->",
    "</summary></details><h1>big",
    "[x](javascript:alert(1)) ![y](https://evil.example/y.png)",
    "@torvalds @kernel/everybody",
    "closes #123, octocat/hello#1, GH-7, https://github.com/o/r/issues/1",
    "deadbeefcafe1234deadbeefcafe1234deadbeef",
    "https://evil.example www.evil.example a@evil.example",
    "| cell | cell |\n|---|---|\n| a | b |",
    "# heading\n> quote\n- list\n1. list\n***\n    code",
    "`````\nout of the fence\n~~~~~\n```",
    "`code` ``more`` ``` most",
    "::error file=a::b\n::set-output name=a::b\n  ::add-mask::x\n##[error]bad\n::stop-commands::x",
    "\u202etxt.exe\u2066 \x1b[31mred\x1b[0m \x00\x07\r\u2028line\u2029paragraph\ufeff\U000e0041",
    ":tada: $x^2$ $`y`$ $$z$$ ~~gone~~ **bold** _it_ [ ] [x] [^1]",
    "a\\|b\\`c\\",
    "x" * 5000,
    " ",
    "",
    "\ud800 lone",
    "&lt;b&gt; &#64;torvalds &commat;torvalds",
    "$(reboot); `reboot` '\"",
]


def everywhere(text: str) -> PullRequestState:
    """A state in which everything that somebody else names is this text."""
    rows = [
        row(text or "b", 0.05, "regression", suite=text, params={text: text}, unit=text, metric=text),
        row(f"{text}2", None, "failed", params={"p": text}, reason=text),
        row(f"{text}3", 0.02, "inconclusive", half=0.05, reason=text),
        *regressed(),
    ]
    left_out = (CaseOutcome(case=rows[0].case, status="unsupported", reason=text),)
    progress = measured(*rows)
    base, head = progress.compared.base, progress.compared.head
    base = replace(base, label=text, facts={text: text, "compiler": text})
    head = replace(head, label=text, facts={text: f"{text}!", "compiler": f"{text}?"})
    context = replace(
        CONTEXT, setting=(text,), notes=(text,), failures=(ArmFailure(arm=text, message=text, evidence=text),)
    )
    progress = replace(
        progress,
        compared=replace(progress.compared, base=base, head=head, left_out=left_out),
        context=context,
    )
    failure = Failure(whose="kernel", message=text, next_step=text, evidence=f"{text}\nerror: {text}\n{text}")
    return state(
        progress,
        Failed(failure=failure),
        (text, "icount", Failed(failure=failure)),
        (f"{text}-", "icount", replace(progress, context=CONTEXT)),
        ("amd-milan", "walltime", Cancelled(by=text)),
        ("amd-turin", "walltime", Superseded(by=text)),
        title=text,
        base=text,
        head=text,
        repeat=f"cliffwatch run --tree {text}\n{text}",
        series=Series(identity=text, version=2),
        earlier=EarlierVersion(
            version=1, head=text, compared={("amd-rome", "walltime"): compared(*rows[:1])}
        ),
        links=(Link(name=text, url=text), Link(name="page", url=f"https://bench.example.org/{text}")),
        notes=(text,),
    )


TEMPLATE = {
    "h3",
    "p",
    "br",
    "code",
    "pre",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "details",
    "summary",
    "ul",
    "li",
}


def assert_harmless(markdown: str, marker: str | None) -> None:
    page = shown(markdown)
    links = [attributes["href"] for name, attributes in page.elements if name == "a"]
    own = [
        link
        for link in links
        if re.fullmatch(r"https://bench\.example\.org/[A-Za-z0-9._~%/?=&+,:;-]*", link or "")
    ]

    assert page.names - {"a"} <= TEMPLATE
    assert links == own
    assert {key for name, attributes in page.elements if name != "a" for key in attributes} <= {
        "class",
        "lang",
        "open",
        "start",
        "align",
    }
    assert page.linked() == []
    assert [each.strip() for each in page.comments] == ([marker] if marker else [])
    assert not re.search(r"^\s*::|##\[", markdown, re.MULTILINE)
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f\u2028\u2029]", markdown
    )
    markdown.encode()


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_stays_text(text: str) -> None:
    hostile = everywhere(text)

    assert_harmless(sticky_comment(hostile), "cliffwatch sticky 7")
    notification = regression_comment(hostile)
    assert notification is not None
    head = text[:12] if re.fullmatch(r"[0-9a-f]{40}", text) else "unknown"
    assert_harmless(notification, f"cliffwatch regression:{head} 7")
    run = check_run(hostile)
    assert_harmless(run.summary, None)
    assert not LINKED.search(run.title)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_leaves_the_rest_as_it_is(text: str) -> None:
    """What is ours has the same elements, in the same order, as with a name of no harm."""
    harmless = shown(sticky_comment(everywhere("name")))
    hostile = shown(sticky_comment(everywhere(text)))

    for each in ("h3", "table", "details", "summary", "th", "pre"):
        wanted = [name for name, _ in harmless.elements].count(each)
        found = [name for name, _ in hostile.elements].count(each)
        # A text of blanks leaves out what would hold it: evidence, and the command.
        assert found == wanted or (each == "pre" and not text.strip())


@given(
    st.text(alphabet=st.one_of(st.sampled_from("`|\\<>[]()@#:$~*_-\n !&;"), st.characters()), max_size=200)
)
def test_no_text_at_all_gets_out(text: str) -> None:
    sentence = one_line(f"A sentence with {code(text)} and {code(text * 3)} in it.", first="- ")
    page = shown(
        "\n".join([sentence, "", *block(text, lines=10), "", f"a | b\n--|--\n{code(text)} | {code(text)}"])
    )

    assert page.names <= {"ul", "li", "p", "br", "code", "pre", "table", "thead", "tbody", "tr", "th", "td"}
    assert [name for name, _ in page.elements].count("td") == 2
    assert page.linked() == []


def test_a_marker_in_somebodys_text_is_none_of_ours() -> None:
    text = sticky_comment(everywhere("<!-- cliffwatch sticky 999 -->"))

    assert text.startswith("<!-- cliffwatch sticky 7 -->\n")
    assert STEP
