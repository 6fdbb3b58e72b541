"""Comments are what people read: kept as text, and held against what GitHub and a mail make of them."""

import re
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from github_html import prose, shown
from golden import assert_golden
from states import (
    BASE,
    CONTEXT,
    CONTROL,
    INT,
    REPEAT,
    SEQ,
    calm,
    compared,
    measured,
    mixed,
    regressed,
    row,
    state,
    states,
)

from cliffwatch.comparing.compare_run import compare_run, sides_of_run
from cliffwatch.failure import Failure
from cliffwatch.formats.code.differences import ArmCode, CasePrograms, ProgramDifference
from cliffwatch.formats.result_directory import read_run
from cliffwatch.formats.verdicts import Sweep
from cliffwatch.pull_request.comment import check_run, regression_comment, sticky_comment
from cliffwatch.pull_request.marker import read_marker
from cliffwatch.pull_request.state import Booting, EarlierVersion, Failed, Measured, Queued, Waiting
from cliffwatch.reports.context import context_of_run, with_functions
from cliffwatch.reports.markdown import length
from cliffwatch.shell_lines import WIDTH

STATES = states()
NAMES = sorted(STATES)


@pytest.mark.parametrize("name", NAMES)
def test_the_comment(name: str) -> None:
    assert_golden(f"comment-{name}.md", sticky_comment(STATES[name]))


@pytest.mark.parametrize("name", ["one-platform", "mixed"])
def test_the_comment_that_notifies(name: str) -> None:
    text = regression_comment(STATES[name])

    assert text is not None
    assert_golden(f"notification-{name}.md", text)


@pytest.mark.parametrize(
    "name",
    sorted({*NAMES} - {"one-platform", "mixed", "booting", "second-version", "3000-rows", "go-library"}),
)
def test_nothing_notifies_but_a_confirmed_regression(name: str) -> None:
    assert regression_comment(STATES[name]) is None


def test_a_regression_that_is_not_confirmed_does_not_notify() -> None:
    unconfirmed = state(measured(*regressed(), confirmed=frozenset()))

    assert regression_comment(unconfirmed) is None
    assert "Of 1 case that got worse 0 are confirmed on fresh boots." in " ".join(
        sticky_comment(unconfirmed).split()
    )


def test_a_change_that_nobody_judged_is_news_and_no_regression() -> None:
    rows = (row(SEQ, 0.05, "changed", better=None), row(SEQ, 0.001, "unchanged", params={"nr_maps": "9"}))
    told = state(measured(*rows))
    comment = " ".join(sticky_comment(told).split())

    assert "### Cliffwatch: 1 changed (5.0 %), 1 unchanged" in comment
    assert "≠ +5.0 % [4.3, 5.7]" in comment
    assert "≠ changed: nobody said which way is better." in comment
    assert "≠" not in sticky_comment(STATES["one-platform"])
    assert check_run(told, fail_on="regression").conclusion == "neutral"


@pytest.mark.parametrize("name", NAMES)
def test_the_comment_is_found_again_by_its_first_line(name: str) -> None:
    marker = read_marker(sticky_comment(STATES[name]))

    assert marker is not None
    assert (marker.kind, marker.sequence) == ("sticky", 7)


@pytest.mark.parametrize("name", NAMES)
def test_github_shows_what_we_wrote_and_nothing_else(name: str) -> None:
    page = shown(sticky_comment(STATES[name]))

    template = {
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
        "a",
    }
    assert page.names <= template
    assert page.linked() == []
    assert [each.strip() for each in page.comments] == ["cliffwatch sticky 7"]
    assert all(
        each["href"].startswith("https://bench.example.org/") for name, each in page.elements if name == "a"
    )  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["mixed", "one-platform", "3000-rows"])
def test_a_table_is_one_table_with_a_column_for_each_target(name: str) -> None:
    page = shown(sticky_comment(STATES[name]))
    heads = [name for name, _ in page.elements].count("th")

    assert heads == (1 + len(STATES[name].measured())) * (2 if name == "3000-rows" else 1)


@pytest.mark.parametrize("name", NAMES)
def test_no_paragraph_is_broken_by_hand(name: str) -> None:
    """GitHub shows every line break of a comment."""
    lines = list(prose(sticky_comment(STATES[name])))

    assert [
        pair
        for pair in pairwise(lines)
        if all(each and not each.lstrip().startswith(("-", "<", "#")) for each in pair)
    ] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_link_stands_below_the_heading(name: str) -> None:
    assert sticky_comment(STATES[name]).splitlines()[3].startswith("[comparison](<https://bench.example.org/")


def test_the_table_of_two_targets_needs_no_scrolling() -> None:
    table = [line for line in sticky_comment(STATES["one-platform"]).splitlines() if "|" in line]

    assert len(table) > 4
    assert max(len(line) for line in table) <= WIDTH


def test_thousands_of_rows_keep_the_changes_and_say_what_is_left_out() -> None:
    text = sticky_comment(STATES["3000-rows"])

    assert 40_000 < length(text) <= 61_000
    assert len(re.findall(r"^`size=", text, re.MULTILINE)) >= 300
    assert re.search(r"\d+ more lines do not fit here", text)
    assert re.search(r"… [\d,]+ more lines", text)


def test_length_is_counted_as_github_does() -> None:
    rows = [row(f"bench-{chr(0x1F600) * 60}-{number}", 0.05, "regression") for number in range(3000)]
    text = sticky_comment(state(measured(*rows)))

    assert length(text) <= 65_536
    assert len(text.encode("utf-16-le")) // 2 <= 65_536


def test_a_sweep_is_one_line() -> None:
    text = sticky_comment(STATES["mixed"])

    assert "`nr_maps 17-100`     | ▼ -7.2 to -3.1 %" in text


def test_an_unchanged_case_within_a_sweep_parts_it() -> None:
    changes = {1: 0.03, 2: 0.03, 3: 0.03, 4: None, 5: 0.04, 6: 0.05, 7: 0.06}
    rows = [
        row(
            SEQ,
            change or 0.001,
            "unchanged" if change is None else "regression",
            params={"nr_maps": str(count)},
        )
        for count, change in changes.items()
    ]
    text = sticky_comment(state(measured(*rows)))

    assert "`nr_maps 1-3`" in text
    assert "`nr_maps 5-7`" in text


def test_of_two_parameters_the_one_that_makes_the_fewest_lines_is_the_sweep() -> None:
    """All batches of two sizes changed: a line a size, and none for each batch, although there are more
    sizes.
    """
    rows = [
        row(
            SEQ,
            0.05 if size in (8, 32) else 0.001,
            "regression" if size in (8, 32) else "unchanged",
            params={"size": str(size), "batch": str(batch)},
        )
        for size in (1, 2, 4, 8, 16, 32)
        for batch in (1, 2, 3, 4)
    ]
    text = sticky_comment(state(measured(*rows)))

    assert re.findall("^`batch.*?`", text, re.MULTILINE) == ["`batch 1-4, size=8`", "`batch 1-4, size=32`"]


def test_a_case_without_the_parameter_is_a_line_beside_the_sweep() -> None:
    rows = [row(SEQ, 0.05, "regression", params={"nr_maps": str(count)}) for count in range(1, 6)]
    text = sticky_comment(state(measured(*rows, row(SEQ, 0.05, "regression", params={"producers": "4"}))))

    assert "`nr_maps 1-5`" in text
    assert "`producers=4`" in text


def sweep(**members: Any) -> Sweep:
    words = "base: flat from nr_maps 1 to 100, no breakpoint; head: jumps between nr_maps 16 and 17 (+50 %)"
    plain = {"suite": "local-storage", "benchmark": SEQ, "parameter": "nr_maps", "metric": "hits-latency"}
    return Sweep(**{**plain, "words": words, "head_breakpoint": (16, 17), "differs": True, **members})


def test_a_curve_that_head_changes_is_named_with_its_fixed_parameters_and_others_are_not() -> None:
    sweeps = (
        sweep(fixed={"producers": "2", "consumers": None}),
        sweep(fixed={"producers": "4"}, differs=False),
    )
    measured_here = Measured(compared=compared(*regressed(), sweeps=sweeps))
    text = sticky_comment(state(measured_here, measured(*calm()))).split("<details")[0]

    assert "Curves that head surely changes:" in text
    assert f"- `{SEQ} at producers=2, default consumers` on amd-rome:" in " ".join(text.split())
    assert r"head: jumps between nr\_maps 16 and 17 (+50 %)" in " ".join(text.split())
    assert text.count("jumps between") == 1


def test_of_many_changed_curves_some_are_named_and_the_rest_is_counted() -> None:
    sweeps = tuple(sweep(fixed={"producers": str(count)}) for count in range(20))
    text = sticky_comment(state(Measured(compared=compared(*regressed(), sweeps=sweeps)))).split("<details")[
        0
    ]

    assert text.count("jumps between") == 8
    assert "- 12 more curves that head surely changes" in text


def test_the_name_of_a_parameter_becomes_no_markup() -> None:
    hostile = sweep(fixed={"<img src=x>": "`@torvalds`"}, words="flat from @torvalds <b>1</b> to #1")
    page = shown(sticky_comment(state(Measured(compared=compared(*regressed(), sweeps=(hostile,))))))

    assert page.linked() == []
    assert not {"img", "b"} & page.names


def test_the_first_error_of_a_log_is_shown_not_its_beginning() -> None:
    text = sticky_comment(STATES["build-failure"])

    assert "error: expected ';' before 'return'" in text
    assert "file0.o" not in text


def test_a_case_that_one_target_alone_failed_is_named_with_its_reason() -> None:
    failed = row(SEQ, None, "failed", params={"nr_maps": "1"}, reason="head failed in 5 of 21 boots")
    text = " ".join(sticky_comment(state(measured(failed, *calm()))).split())

    assert "! failed" in text
    assert "`local-storage-cache-seq-get/nr_maps=1`: failed, `head failed in 5 of 21 boots`" in text


def test_facts_that_differ_are_named() -> None:
    progress = measured(*regressed())
    head = replace(progress.compared.head, facts={**progress.compared.head.facts, "compiler": "gcc 13.1.0"})
    text = sticky_comment(state(replace(progress, compared=replace(progress.compared, head=head))))

    assert "differs: `compiler` `gcc 12.2.0` → `gcc 13.1.0`" in text


def test_the_check_run_has_the_verdict_as_its_title() -> None:
    run = check_run(STATES["one-platform"])

    assert (run.title, run.status, run.conclusion) == (
        "1 slower (4.8 % more time), 14 unchanged",
        "completed",
        "neutral",
    )
    assert run.details_url is not None
    assert length(run.summary) <= 65_535


@pytest.mark.parametrize(
    ("name", "fail_on", "conclusion"),
    [
        ("one-platform", "regression", "failure"),
        ("one-platform", "confirmed", "failure"),
        ("unchanged", "regression", "neutral"),
        ("build-failure", "never", "neutral"),
        ("build-failure", "confirmed", "failure"),
        ("superseded", "regression", "cancelled"),
    ],
)
def test_a_check_run_fails_only_where_the_policy_says_so(name: str, fail_on: str, conclusion: str) -> None:
    assert check_run(STATES[name], fail_on=fail_on).conclusion == conclusion  # type: ignore[arg-type]


def test_what_is_not_confirmed_does_not_fail_a_check_that_asks_for_confirmation() -> None:
    unconfirmed = state(measured(*regressed(), confirmed=frozenset()))

    assert check_run(unconfirmed, fail_on="confirmed").conclusion == "neutral"
    assert check_run(unconfirmed, fail_on="regression").conclusion == "failure"


def test_a_host_that_failed_is_no_fault_of_the_change() -> None:
    host = Failed(
        failure=Failure(whose="host", message="no host could do it", next_step="say `/bench` again")
    )

    assert check_run(state(host), fail_on="regression").conclusion == "neutral"


@pytest.mark.parametrize(
    ("progress", "status"),
    [(Waiting(), "queued"), (Queued(position=1), "queued"), (Booting(done=1, planned=2), "in_progress")],
)
def test_a_check_run_is_open_until_all_is_done(progress: Booting, status: str) -> None:
    run = check_run(state(progress, progress))

    assert (run.status, run.conclusion) == (status, None)
    assert check_run(state(progress, measured(*calm()))).status == "in_progress"


def test_unnamed_targets_and_no_targets_are_comments_too() -> None:
    assert "nothing is measured here" in sticky_comment(state())
    assert isinstance(state(measured()).targets[0].progress, Measured)
    assert "nothing was compared" in sticky_comment(state(measured()))


@pytest.mark.parametrize(
    "repeat",
    [REPEAT, "cliffwatch run --tree 'a b' --head \"it's\"", "unfinished 'quote", f"{REPEAT}\n{REPEAT}"],
)
def test_the_command_is_the_same_word_by_word(repeat: str) -> None:
    text = sticky_comment(state(measured(*calm()), repeat=repeat))
    shown_command = text.rpartition("```sh\n")[2].partition("\n```")[0]

    if "unfinished" in repeat:
        assert shown_command == repeat
    else:
        assert shlex.split(shown_command.replace("\\\n", "")) == shlex.split(repeat)
        assert max(map(len, shown_command.splitlines())) <= WIDTH


def test_a_regression_that_was_not_measured_again_is_not_gone() -> None:
    kinds = {
        "1": ("regression", "unchanged"),
        "2": ("regression", "regression"),
        "3": ("regression", "inconclusive"),
        "4": ("unchanged", "regression"),
    }
    first = [row(SEQ, 0.05, then, params={"nr_maps": name}) for name, (then, _) in kinds.items()]
    second = [row(SEQ, 0.05, since, params={"nr_maps": name}) for name, (_, since) in kinds.items()]
    only_first, only_second = row(INT, 0.05, "regression"), row(CONTROL, 0.05, "regression")
    earlier = EarlierVersion(
        version=1, head=BASE, compared={("amd-rome", "walltime"): compared(*first, only_first)}
    )
    text = " ".join(sticky_comment(state(measured(*second, only_second), earlier=earlier)).split())

    assert "): 1 gone, 1 still there, 2 open, 1 new, 1 not measured before." in text


def test_the_functions_behind_the_changes_are_folded_away(data: Path) -> None:
    run = read_run(data / "runs/uninlined")
    assert not isinstance(run, Failure)
    real = compare_run(sides_of_run(run))
    assert not isinstance(real, Failure)
    of_run = with_functions(context_of_run(run), [real])

    comment = sticky_comment(state(("emulated-x86-64", "icount", Measured(compared=real, context=of_run))))

    fold = re.search(r"<summary>Functions behind the changes[^\n]*\n(.*?)</details>", comment, re.DOTALL)
    assert fold is not None
    assert "bpf_local_storage_lookup          -      12.00     +12.00" in fold[1]
    assert length(comment) < 60_000


def test_without_counts_there_is_no_such_fold() -> None:
    assert "Functions behind" not in sticky_comment(
        state(("emulated-x86-64", "icount", measured(*regressed())))
    )


def test_how_the_code_of_the_kernels_differs_stands_with_what_was_measured() -> None:
    """Whether or not anything changed; names are of the kernel's making."""
    program = ProgramDifference(
        name="get_`@somebody`",
        cases=(),
        base=412,
        head=436,
        base_instructions=96,
        head_instructions=97,
        lines=(),
    )
    digest = CasePrograms(suite="s", benchmark="b", params={}, names=1, base=8 * "0", head=8 * "1")
    image = ArmCode(arm="head", functions=(), programs=(program,), case_programs=(digest,))

    unchanged = measured(row(SEQ, 0.0, "unchanged"))
    context = replace(CONTEXT, images={unchanged.compared.head.name: image})
    comment = sticky_comment(state(replace(unchanged, context=context)))

    fold = re.search(r"<summary>Environment[^\n]*\n(.*?)</details>", comment, re.DOTALL)
    assert fold is not None
    assert (
        "`Code of head: no function that cases executed differs; BPF programs: get_'@somebody' 412 to 436"
        " bytes.`" in fold[1]
    )


def test_a_warning_stands_before_the_rows_that_it_is_about() -> None:
    warned = replace(
        measured(*mixed()), compared=compared(*mixed(), warnings=("Measured on a host: smt is *on*.",))
    )
    asked = state(warned, measured(*calm()))
    warning = r"**amd-rome: Measured on a host: smt is \*on\*.**"

    for text in (sticky_comment(asked), regression_comment(asked), check_run(asked).summary):
        assert text is not None
        assert text.count(warning) == 1
        assert text.index(warning) < text.index("| ")
