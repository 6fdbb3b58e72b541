"""Which cases a change can touch: by the functions that differ and those that cases execute."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner
from compiled_code import PLAIN

from cliffwatch.command.main import main
from cliffwatch.comparing.same_code import same_code
from cliffwatch.failure import Failure
from cliffwatch.formats.code.affected import AffectedDocument
from cliffwatch.formats.reading import document_text, read_as
from cliffwatch.samples import CaseKey
from cliffwatch_runner.build.cache.executed import Executed
from cliffwatch_runner.command.affected import affected_text
from cliffwatch_runner.plan.selection import Selection
from cliffwatch_runner.run.unchanged_builds import affected as module
from cliffwatch_runner.run.unchanged_builds.affected import (
    Differences,
    affected_cases,
    changed_functions,
    differences,
    only_affected,
)
from cliffwatch_runner.run.unchanged_builds.case_code import CodeOfArm
from cliffwatch_runner.run.unchanged_builds.executed import ExecutionContext, read_executed

LOOKUP = CaseKey("local-storage", "local-storage-cache-seq-get", (("nr_maps", "16"),))
CONTROL = CaseKey("local-storage", "local-storage-cache-hashmap-control", (("hashmap_nr_keys_used", "10"),))
NEW = CaseKey("local-storage", "local-storage-cache-int-get", (("nr_maps", "1000"),))


ARMS = cast(
    "Any",
    {
        name: SimpleNamespace(subject=SimpleNamespace(label="a kernel", short=short), kernel=None)
        for name, short in (("base", "a11"), ("head", "b22"))
    },
)


def planned(*cases: CaseKey) -> Any:
    """Planned cases, as far as they are asked for."""
    return [SimpleNamespace(key=case) for case in cases]


EXECUTED = Executed(
    source="results",
    cases={LOOKUP: frozenset({"lookup", "tick"}), CONTROL: frozenset({"hash", "tick"})},
    start=frozenset({"boot", "mount"}),
    kernels=frozenset(),
)


def names(cases: Any) -> list[str]:
    return [case.benchmark for case in cases]


def test_a_case_that_executes_what_differs_is_affected() -> None:
    answer = affected_cases(
        ARMS, planned(LOOKUP, CONTROL), Differences(functions=frozenset({"lookup", "never"})), EXECUTED
    )

    assert names(answer.affected) == [LOOKUP.benchmark]
    assert answer.affected[0].functions == ("lookup",)
    assert names(answer.unaffected) == [CONTROL.benchmark]
    assert read_as(document_text(answer), AffectedDocument) == answer


def test_nothing_is_affected_where_nothing_differs() -> None:
    assert (
        affected_cases(ARMS, planned(LOOKUP, CONTROL), Differences(functions=frozenset()), EXECUTED).affected
        == ()
    )


def test_what_every_guest_executes_affects_all() -> None:
    answer = affected_cases(
        ARMS, planned(LOOKUP, CONTROL), Differences(functions=frozenset({"mount"})), EXECUTED
    )

    assert names(answer.affected) == [LOOKUP.benchmark, CONTROL.benchmark]
    assert answer.at_start == ("mount",)


def test_a_case_that_was_never_counted_is_affected() -> None:
    answer = affected_cases(ARMS, planned(NEW), Differences(functions=frozenset({"never"})), EXECUTED)

    assert [case.counted for case in answer.affected] == [False]


def test_what_cases_execute_is_read_from_a_run(data: Path) -> None:
    executed = read_executed(data / "runs/uninlined")

    assert isinstance(executed, Executed)
    assert "bpf_local_storage_lookup" in executed.cases[LOOKUP]
    assert "bpf_local_storage_lookup" not in executed.cases[CONTROL]
    assert executed.kernels


def test_a_run_without_counts_is_refused(data: Path, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes((data / "runs/uninlined/run.json").read_bytes())

    refused = read_executed(tmp_path)

    assert isinstance(refused, Failure)
    assert refused.message.endswith("has no function counts")


def test_the_answer_reads() -> None:
    answer = affected_cases(
        ARMS,
        planned(LOOKUP, CONTROL, NEW),
        Differences(functions=frozenset({"lookup", "tick", "gone"})),
        EXECUTED,
    )

    assert affected_text(answer).splitlines() == [
        "3 of 3 cases can be affected: 3 functions differ",
        "  base  a kernel",
        "  head  a kernel",
        "",
        "Can be affected:",
        "  local-storage/local-storage-cache-seq-get/nr_maps=16                       lookup, tick",
        "  local-storage/local-storage-cache-hashmap-control/hashmap_nr_keys_used=10  tick",
        "  local-storage/local-storage-cache-int-get/nr_maps=1000                     never counted",
        "",
        "The counts of executed functions are from results.",
        "They come from other kernels: base may execute more functions now.",
    ]


def test_without_counts_the_command_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    ended = CliRunner().invoke(main, ["affected", "--tree", ".", "--base", "HEAD", "--head", "HEAD"])

    assert ended.exit_code == 2
    assert "there are no function counts under cliffwatch-results" in ended.output
    assert "cliffwatch run --mode icount" in ended.output


@pytest.mark.parametrize("differs", [set(), {"lookup"}, {"tick"}, {"mount"}, {"never"}])
def test_cases_are_unaffected_where_digests_of_their_code_are_the_same(differs: set[str]) -> None:
    """Two ways to the same answer: functions that differ, and the digests that reports and services have of
    both.
    """
    functions = dict.fromkeys(("lookup", "tick", "hash", "boot", "mount", "never"), "1")
    around = ExecutionContext(boot=(), files={}, bench=("b",), programs=(), data=None, guest={})
    code = {
        "base": CodeOfArm(functions=functions, surroundings=around),
        "head": CodeOfArm(functions=functions | dict.fromkeys(differs, "2"), surroundings=around),
    }

    answer = affected_cases(
        ARMS, planned(LOOKUP, CONTROL, NEW), Differences(functions=frozenset(differs)), EXECUTED, code
    )

    for case in (*answer.affected, *answer.unaffected):
        same = same_code(case.code, "base", case.code, "head")
        assert same is (None if case.case == NEW else case in answer.unaffected)
    assert json.loads(document_text(answer))["affected"][-1]["code"] is None
    assert read_as(document_text(answer), AffectedDocument) == answer


def test_text_in_names_is_shown_as_text() -> None:
    evil = Executed(
        source="x", cases={LOOKUP: frozenset({"a\x1b[31m"})}, start=frozenset(), kernels=frozenset()
    )
    answer = affected_cases(ARMS, planned(LOOKUP), Differences(functions=frozenset({"a\x1b[31m"})), evil)

    assert "\x1b" not in affected_text(answer)
    assert json.loads(document_text(answer))["changed"] == ["a\x1b[31m"]


def test_only_what_can_be_touched_stays() -> None:
    """The others are left out as what they are: an unchanged build."""
    selection = Selection(cases=tuple(planned(LOOKUP, CONTROL)), left_out=())

    limited = only_affected(selection, ARMS, Differences(functions=frozenset({"lookup", "never"})), EXECUTED)

    assert [case.key for case in limited.cases] == [LOOKUP]
    (outcome,) = limited.left_out
    assert (outcome.case, outcome.status) == (CONTROL, "unchanged-build")
    assert outcome.reason == "it executes none of the 2 functions that differ between a11 and b22"


def test_a_suite_whose_program_differs_is_affected_whatever_the_kernels_are() -> None:
    """Arms may differ in the Go modules of a program alone, or in the BPF objects of their trees."""
    changed = Differences(functions=frozenset(), suites=frozenset({"local-storage"}))

    answer = affected_cases(ARMS, planned(LOOKUP), changed, EXECUTED)

    assert answer.affected[0].program
    assert "its suite's program" in affected_text(answer)


def test_guests_that_are_prepared_otherwise_touch_every_case() -> None:
    answer = affected_cases(
        ARMS, planned(LOOKUP, CONTROL), Differences(functions=frozenset(), guests=True), EXECUTED
    )

    assert answer.unaffected == ()
    assert "The guests' set-up differs" in affected_text(answer)


@pytest.mark.parametrize(
    ("of_head", "suites", "guests"),
    [
        ({}, set(), False),
        ({"program": "changed"}, {"own"}, False),
        ({"program": None}, {"own"}, False),
        ({"boot": ("mitigations=off",)}, set(), True),
        ({"files": {"/proc/sys/kernel/x": "1"}}, set(), True),
    ],
)
def test_arms_differ_in_more_than_functions(
    of_head: dict[str, Any], suites: set[str], guests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "changed_functions", lambda *_: frozenset())
    made = {"program": "same", "boot": (), "files": {}}
    arms, programs = {}, {}
    for name, about in (("base", made), ("head", made | of_head)):
        settings = SimpleNamespace(boot=about["boot"], files=lambda about=about: about["files"])
        arms[name] = SimpleNamespace(subject=SimpleNamespace(settings=settings))
        programs[name] = [SimpleNamespace(suite="own", digest=about["program"])] if about["program"] else []

    changed = differences(cast("Any", arms), cast("Any", programs), Path("cache"), PLAIN, lambda: False)

    assert changed == Differences(functions=frozenset(), suites=frozenset(suites), guests=guests)


def test_a_kernel_that_did_not_build_has_no_functions() -> None:
    failed = Failure(whose="kernel", message="it does not build", next_step="")
    arms = cast("Any", {"base": SimpleNamespace(kernel=failed), "head": SimpleNamespace(kernel=failed)})

    assert changed_functions(arms, Path("cache"), PLAIN, lambda: False) == failed


def test_a_change_of_the_jit_touches_every_case_that_loads_a_program(data: Path, tmp_path: Path) -> None:
    """What is measured executes code that the JIT made and nothing of the JIT itself, which ran as the case
    was set up: that counts.
    """
    shutil.copytree(data / "runs/uninlined", tmp_path / "run")
    for counted in (tmp_path / "run").glob("boots/*/functions.json"):
        shutil.copyfile(data / "bpf-programs/functions.json", counted)
    executed = read_executed(tmp_path / "run")
    assert isinstance(executed, Executed)

    document = affected_cases(
        ARMS, planned(*executed.cases), Differences(functions=frozenset({"do_jit"})), executed
    )

    measured = json.loads((data / "bpf-programs/functions.json").read_text())
    jit = [each["name"] for each in measured["functions"]].index("do_jit")
    assert len(document.affected) == len(measured["cases"]) == 7
    assert not any(place == jit for case in measured["cases"] for place, _ in case["counts"])
    assert document.at_start == ()
