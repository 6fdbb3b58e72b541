"""The digest of a case's code: the same where nothing that it executes differs, another one where anything
does.
"""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from compiled_code import HEADER, PLAIN, SOURCE, build, digests

from cliffwatch.comparing.same_code import same_code
from cliffwatch.formats.code.digests import ArmDigest, CodeDigests
from cliffwatch.samples import CaseKey
from cliffwatch_runner.build.cache.executed import Executed
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.run.unchanged_builds.case_code import (
    CodeOfArm,
    code_of_arms,
    digests_of,
    digests_of_cases,
)
from cliffwatch_runner.run.unchanged_builds.executed import ExecutionContext

CASE = CaseKey("own", "lookup", (("entries", "10"),))
OTHER = CaseKey("other", "lookup", ())
EVERYTHING = (
    *(
        "uses_inline",
        "uses_table",
        "uses_setting",
        "uses_pointer",
        "uses_text",
        "uses_key",
        "calls",
        "helper",
    ),
    *("jit", "say"),
)


def surroundings(**changed: Any) -> ExecutionContext:
    made: dict[str, Any] = {
        "boot": (),
        "files": {},
        "bench": ["b"],
        "programs": [("own", "p"), ("other", "o")],
        "data": None,
        "guest": {"cpus": 1, "pin": []},
    }
    return ExecutionContext(**(made | changed))


def executed(names: Iterable[str], *cases: CaseKey, start: Iterable[str] = ("untouched",)) -> Executed:
    of_cases = {case: frozenset(names) for case in cases or (CASE,)}
    return Executed(source="x", cases=of_cases, start=frozenset(start), kernels=frozenset())


def arm(functions: Any, **changed: Any) -> CodeOfArm:
    return CodeOfArm(functions=functions, surroundings=surroundings(**changed))


def same(base: CodeOfArm, head: CodeOfArm, of: Executed, case: CaseKey = CASE) -> bool | None:
    code = digests_of({"base": base, "head": head}, of, case)
    return same_code(code, "base", code, "head")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> CodeOfArm:
    return arm(digests(build(tmp_path_factory.mktemp("kernels") / "base")))


@pytest.mark.parametrize(
    ("old", "new", "flags", "equal"),
    [
        ("#define APART", "/* a remark */\n\n#define APART", (), True),
        ("int counter;", "int counter, another = 3;\nchar room[4096] = {1};", (), True),
        ("APART int say(", "APART int added(int x) { return x * counter + 99; }\nAPART int say(", (), True),
        ("x * 3", "x * 5", (), False),
        ("x ^ 0x5a", "x ^ 0x5b", (), False),
        (".run = helper", ".run = jit", (), False),
        ("x + 11", "x + 12", (), False),
        ("SOURCE", "SOURCE", ("-DKEY_TRUE",), False),
        ("{1, 2, 3, 4}", "{1, 2, 3, 5}", (), False),
        ("setting = 7", "setting = 8", (), False),
    ],
    ids=[
        *("comment", "moved-data", "added-and-not-executed", "inline", "jit", "pointer", "helper-by-pointer"),
        *("static-key", "constant", "data"),
    ],
)
def test_a_digest_changes_with_what_a_case_executes_and_with_nothing_else(
    base: CodeOfArm, tmp_path: Path, old: str, new: str, flags: tuple[str, ...], equal: bool
) -> None:
    head = arm(digests(build(tmp_path / "head", SOURCE.replace(old, new), HEADER.replace(old, new), *flags)))

    assert same(base, head, executed(EVERYTHING)) is equal


@pytest.mark.parametrize(
    ("executes", "start", "equal"),
    [
        (("helper",), ("untouched",), True),
        (("helper", "jit"), ("untouched",), False),
        (("helper",), ("jit",), False),
    ],
    ids=["elsewhere", "in-the-case", "at-boot"],
)
def test_a_change_counts_where_it_is_executed(
    base: CodeOfArm, tmp_path: Path, executes: tuple[str, ...], start: tuple[str, ...], equal: bool
) -> None:
    head = arm(digests(build(tmp_path / "head", SOURCE.replace("x ^ 0x5a", "x ^ 0x5b"))))

    assert same(base, head, executed(executes, start=start)) is equal


def test_what_one_arm_alone_executes_by_chance_makes_no_difference() -> None:
    """An interrupt that came in one boot: both kernels have its function, and both digests have it."""
    kernel = {"lookup": "1", "interrupt": "2"}

    assert same(arm(kernel), arm(kernel), executed({"lookup", "interrupt"})) is True


def test_a_function_that_only_one_kernel_has_makes_a_difference() -> None:
    of_head = {"lookup": "1", "slow_path": "2"}

    assert same(arm({"lookup": "1"}), arm(of_head), executed({"lookup", "slow_path"})) is False


@pytest.mark.parametrize(
    ("changed", "equal"),
    [
        ({"programs": [("own", "q"), ("other", "o")]}, False),
        ({"programs": [("own", "p"), ("other", "q")]}, True),
        ({"boot": ("mitigations=off",)}, False),
        ({"files": {"/proc/sys/kernel/x": "1"}}, False),
        ({"data": "d"}, False),
        ({"guest": {"cpus": 2, "pin": []}}, False),
        ({"guest": {"cpus": 1, "pin": [3]}}, True),
    ],
    ids=["program", "another-suites-program", "boot", "files", "data", "guest", "host's-own-cpus"],
)
def test_what_surrounds_the_kernel_counts_too(changed: dict[str, Any], equal: bool) -> None:
    assert same(arm({"lookup": "1"}), arm({"lookup": "1"}, **changed), executed({"lookup"})) is equal


def test_a_case_of_bench_has_bench_for_its_program() -> None:
    of_bench = {"programs": []}
    head = arm({"lookup": "1"}, **of_bench, bench=["another"])

    assert same(arm({"lookup": "1"}, **of_bench), head, executed({"lookup"})) is False


def test_a_case_that_was_never_counted_has_no_digest() -> None:
    cases = digests_of_cases({"base": arm({"lookup": "1"})}, executed({"lookup"}), [OTHER, CASE])

    assert [each.case for each in cases] == [CASE]
    assert cases[0].code.functions == 2


def test_runs_that_executed_other_functions_are_not_compared() -> None:
    """Their digests are of other names: that they differ says nothing of the code."""
    kernel = arm({"lookup": "1", "tick": "2"})
    first, second = (
        digests_of({"head": kernel}, executed(names), CASE) for names in ({"lookup"}, {"lookup", "tick"})
    )

    assert same_code(first, "head", second, "head") is None
    assert same_code(first, "head", first, "head") is True
    assert same_code(first, "head", first, "gone") is None
    assert same_code(None, "base", first, "head") is None


def test_a_digest_is_the_same_wherever_it_is_made() -> None:
    """Pinned: it is stored, and compared with what other hosts send."""
    code = digests_of({"head": arm({"lookup": "1", "untouched": "2"})}, executed({"lookup"}), CASE)

    assert code == CodeDigests(
        functions=2,
        names="8d5ed57227290aa345ed280c",
        arms=(ArmDigest(arm="head", digest="80fbd40b0e0b3b193b435877"),),
    )


def test_arms_without_a_kernel_that_can_be_listed_have_no_code(tmp_path: Path) -> None:
    kernel = Kernel(
        digest="0a" * 16,
        folder=build(tmp_path / "kernels" / "k"),
        was_there=True,
        notes=(),
        config_digest="c",
        release="6.12",
        prebuilt=False,
        shows_config=True,
    )
    settings = SimpleNamespace(boot=(), files=dict)
    subject = SimpleNamespace(settings=settings)
    unlisted = SimpleNamespace(kernel=Kernel(**{**vars_of(kernel), "folder": tmp_path}), subject=subject)
    built = SimpleNamespace(kernel=kernel, subject=subject)
    run: Any = SimpleNamespace(
        arms={"base": built, "head": unlisted, "broken": SimpleNamespace(kernel=None), "control": built},
        bench=None,
        programs={},
        data=None,
        shape=SimpleNamespace(record=dict),
        tools=SimpleNamespace(
            settings=SimpleNamespace(built=tmp_path / "cache", should_stop=lambda: False), guest_sandbox=PLAIN
        ),
    )

    assert list(code_of_arms(run)) == ["base"]


def vars_of(kernel: Kernel) -> dict[str, Any]:
    return {name: getattr(kernel, name) for name in kernel.__slots__}
