"""Go modules at a version as arms: fetched before anything is built, one program for each choice, and
compared on one kernel.
"""

import json
from pathlib import Path

import pytest
from go_module_runs import go_suite, run, suite
from stepping_suite import MODULE, needs_go, write_module

from cliffwatch.failure import Failure
from cliffwatch.formats.result_directory import Run, read_run
from cliffwatch_runner.build.programs.source import ProgramSource, program_source
from cliffwatch_runner.plan.arm_words.modules import check_modules
from cliffwatch_runner.plan.arms import ArmRequest
from cliffwatch_runner.source.go_modules import declared_module, required_modules

__all__ = ["suite"]


@needs_go
@pytest.mark.usefixtures("stand_in")
def test_arms_of_one_kernel_are_compared_by_the_modules_that_they_name(repository: Path, suite: Path) -> None:
    checkout = write_module(repository.parent / "checkout", 700)
    arms = (
        f"old=HEAD module={MODULE}@v1.0.0",
        f"new=HEAD module={MODULE}@v1.1.0",
        f"mine=HEAD module={MODULE}={checkout}",
    )
    ended = run(repository, suite, *arms)

    assert ended.exit_code == 0, ended.stderr
    rows = {row["arm"]: row for row in json.loads(ended.stdout)["comparisons"]}
    assert {name: (row["base"], row["head"], row["verdict"]) for name, row in rows.items()} == {
        "new": (1000, 800, "improvement"),
        "mine": (1000, 700, "improvement"),
    }
    assert len(list((repository.parent / "cache" / "kernels").iterdir())) == 1
    assert len(list((repository.parent / "cache" / "programs").iterdir())) == 3


@needs_go
@pytest.mark.usefixtures("stand_in")
def test_the_record_says_which_arm_ran_which_program(repository: Path, suite: Path) -> None:
    run(
        repository,
        suite,
        "old=HEAD",
        f"new=HEAD module={MODULE}@v1.1.0",
        f"again=HEAD module={MODULE}@v1.1.0",
    )
    read = read_run(repository.parent / "results")

    assert isinstance(read, Run)
    old, new = read.record.programs
    assert (old.arms, old.modules, new.arms, new.modules) == (
        ("old",),
        {MODULE: "v1.0.0"},
        ("new", "again"),
        {MODULE: "v1.1.0"},
    )
    assert old.digest != new.digest
    assert old.source_digest == new.source_digest
    assert (old.go or "").startswith("go version go")
    settings = read.record.arm_by_name["new"].settings
    assert settings is not None
    assert settings.modules == {MODULE: "v1.1.0"}
    assert read.record.arm_by_name["new"].label.endswith(f", {MODULE}@v1.1.0")
    assert read.arms["new"].environment["modules"] == f"{MODULE} v1.1.0"
    assert "modules" in read.arms["new"].meant
    assert read.arms["old"].environment["go"] == read.arms["new"].environment["go"] == old.go


@needs_go
@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("module", "message"),
    [
        (f"{MODULE}@v1.2.0", f"suite stepping: there is no {MODULE}@v1.2.0"),
        (
            "example.org/other@v1.0.0",
            (
                "no suite of this run is built with it\n  name a module that go.mod requires (stepping:"
                f" {MODULE})"
            ),
        ),
        (f"{MODULE}=/nowhere", "/nowhere is not a folder"),
    ],
)
def test_a_module_that_cannot_be_had_is_told_before_anything_is_built(
    repository: Path, suite: Path, module: str, message: str
) -> None:
    ended = run(repository, suite, f"old=HEAD module={MODULE}@v1.0.0", f"new=HEAD module={module}")

    assert ended.exit_code == 2
    assert message in ended.stderr
    assert not (repository.parent / "cache" / "programs").exists()
    assert not (repository.parent / "cache" / "kernels").exists()


@needs_go
@pytest.mark.usefixtures("stand_in")
def test_nothing_is_fetched_for_a_suite_that_came_with_a_request(repository: Path, suite: Path) -> None:
    """Its go.mod may name any address, and any folder of the host."""
    asked = run(repository, suite, "a=HEAD", "b=HEAD boot=quiet", trust="outside")

    assert asked.exit_code == 2
    assert "nothing is fetched for a suite that came with a request" in asked.stderr
    assert "run `go mod vendor` in the suite's folder" in asked.stderr


@needs_go
def test_what_go_sum_does_not_have_is_not_taken_for_what_the_suite_means(suite: Path) -> None:
    (suite / "go.sum").unlink()
    source = program_source(go_suite(suite), {}, lambda: False)

    assert isinstance(source, Failure)
    assert "go.sum has no checksum, or another one, of the modules of its go.mod" in source.message


@needs_go
def test_equal_modules_give_equal_sources_wherever_their_folder_lies(suite: Path, tmp_path: Path) -> None:
    def digest(chosen: dict[str, Path | str]) -> str:
        source = program_source(go_suite(suite), chosen, lambda: False)
        assert isinstance(source, ProgramSource)
        return source.with_modules.digest

    here, there = write_module(tmp_path / "here", 5), write_module(tmp_path / "there" / "deep", 5)
    other = write_module(tmp_path / "other", 6)

    assert digest({MODULE: here}) == digest({MODULE: there})
    assert digest({MODULE: "v1.0.0"}) == digest({})
    assert len({digest({MODULE: here}), digest({MODULE: other}), digest({MODULE: "v1.0.0"})}) == 3


def test_a_run_without_a_go_program_has_no_use_for_modules(tmp_path: Path) -> None:
    arm = ArmRequest(name="new", rev="HEAD", module={MODULE: "v1.0.0"})
    (wrong,) = check_modules((arm,), (go_suite(tmp_path),))

    assert wrong.message == f"--arm new: module={MODULE}: no suite of this run has a Go program"


def test_a_folder_must_have_the_module_that_it_stands_for(suite: Path, tmp_path: Path) -> None:
    fork = write_module(tmp_path / "fork", 1)
    (fork / "go.mod").write_text("module example.org/fork\n")
    arms = [ArmRequest(name="a", rev="HEAD", module={MODULE: str(folder)}) for folder in (fork, tmp_path)]
    messages = [
        each.message.partition(f"module={MODULE}: ")[2] for each in check_modules(arms, (go_suite(suite),))
    ]

    assert messages == [f"{fork} has the module example.org/fork", f"{tmp_path} has no go.mod"]


def test_what_go_mod_says() -> None:
    text = """// A comment.
module "example.org/a" // of ours

go 1.24.0
toolchain go1.24.1
require example.org/b v1.2.3
require (
\texample.org/c/v2 v2.0.0
\texample.org/d v0.0.0-20200110133405-4032b1d8aae3 // indirect
)
replace example.org/b v1.2.3 => ../b
replace (
\texample.org/x v1.0.0 => example.org/y v1.1.0
)
exclude example.org/z v1.0.0
"""

    assert declared_module(text) == "example.org/a"
    assert required_modules(text) == {
        "example.org/b": "v1.2.3",
        "example.org/c/v2": "v2.0.0",
        "example.org/d": "v0.0.0-20200110133405-4032b1d8aae3",
    }
