"""`--suite auto`: which suites a change concerns, by what was counted and by what suites declare."""

from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from toy import git

from cliffwatch.catalogue.load import load_catalogue
from cliffwatch.command.main import main
from cliffwatch.failure import Failure
from cliffwatch.formats.code.function_counts import CaseCounts
from cliffwatch.samples import CaseKey
from cliffwatch_runner.build.cache.executed import Executed, keep_executed, measured_by_case
from cliffwatch_runner.plan.suites.affected import affected_suites, measured_by_suite
from cliffwatch_runner.run.unchanged_builds.executed import measured_places
from cliffwatch_runner.source.named_repository import read_repository
from cliffwatch_runner.source.ranges.changes import ChangedFile, changed_files, functions_of

pytestmark = pytest.mark.usefixtures("stand_in")

SUITES = load_catalogue().suites
RESERVE = "kernel/bpf/ringbuf.c"
BEFORE = """#include <linux/bpf.h>
/* A ring. */
struct ring {
    int size;
};

static int round(int size)
{
    return size + 7;
}

static void *__bpf_ringbuf_reserve(struct ring *ring,
                   int size)
{
    return ring + round(size);
}

BPF_CALL_2(bpf_ringbuf_query, struct ring *, ring, int, flags)
{
    return ring->size;
}
""".replace("    ", "\t")
ADDED = BEFORE.replace("ring + round", "ring + 1 + round")


def change(repository: Path, file: str, text: str) -> None:
    (repository / file).parent.mkdir(parents=True, exist_ok=True)
    (repository / file).write_text(text)
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", f"Change {file}")


def plan(tree: object, folder: Path, *words: object) -> Result:
    arguments = ["run", "--tree", tree, "--dry-run", "--cache", folder / "cache", *words]
    return CliRunner().invoke(main, [str(word) for word in arguments], catch_exceptions=False)


def keep(folder: Path, suite: str, benchmark: str, *names: str) -> None:
    """As if a case had been counted on this host."""
    case, functions = CaseKey(suite, benchmark, ()), frozenset(names)
    executed = Executed(
        source="x",
        cases={case: functions},
        start=frozenset(),
        kernels=frozenset(),
        measured={case: functions},
    )
    keep_executed(folder / "cache", "local", f"{suite}-{benchmark}", executed)


def changed(repository: Path, before: str, after: str) -> ChangedFile:
    change(repository, RESERVE, before)
    change(repository, RESERVE, after)
    changes = changed_files(partial(read_repository, repository), "HEAD~", "HEAD")
    assert not isinstance(changes, Failure)
    (found,) = changes
    return found


def test_a_clone_without_folders_is_not_taken_for_no_change(repository: Path, tmp_path: Path) -> None:
    change(repository, RESERVE, BEFORE)
    git(repository, "config", "uploadpack.allowFilter", "true")
    address = repository.absolute().as_uri()
    git(tmp_path, "clone", "--quiet", "--bare", "--filter=tree:0", address, str(tmp_path / "treeless"))

    unknown = changed_files(partial(read_repository, tmp_path / "treeless"), "HEAD~", "HEAD")
    misspelt = changed_files(partial(read_repository, repository), "nosuch", "HEAD")

    for each, named in ((unknown, "HEAD~"), (misspelt, "nosuch")):
        assert isinstance(each, Failure)
        assert f"cannot list the files that differ between {named} and HEAD" in each.message


def test_functions_are_found_with_their_text() -> None:
    assert set(functions_of(BEFORE)) == {"", "round", "__bpf_ringbuf_reserve", "bpf_ringbuf_query"}
    assert functions_of(BEFORE)["round"] == "static int round(int size)\nreturn size + 7;\n}"


@pytest.mark.parametrize(
    "comment",
    ["/* one */", "/**\n * two\n **/", "/* a * b / c */", "// to the end", "/***/", "/* not ended {"],
)
def test_comments_are_no_part_of_a_function(comment: str) -> None:
    assert functions_of(f"{BEFORE}{comment}\n") == functions_of(BEFORE)


def test_a_change_has_the_functions_whose_text_differs(repository: Path) -> None:
    assert changed(repository, BEFORE, ADDED) == ChangedFile(
        path=RESERVE, functions=frozenset({"__bpf_ringbuf_reserve"}), whole=False
    )
    in_all = changed(repository, BEFORE, BEFORE.replace("int size;", "long size;"))
    assert in_all.whole
    assert in_all.functions == {"round", "__bpf_ringbuf_reserve", "bpf_ringbuf_query"}
    assert not changed(repository, BEFORE, BEFORE.replace("A ring.", "The ring.")).is_code


def test_what_was_counted_decides_function_by_function() -> None:
    reserve = ChangedFile(path=RESERVE, functions=frozenset({"__bpf_ringbuf_reserve"}), whole=False)
    query = ChangedFile(path=RESERVE, functions=frozenset({"bpf_ringbuf_query"}), whole=False)
    inlined = ChangedFile(path=RESERVE, functions=frozenset({"round"}), whole=False)
    measured = measured_by_suite(
        {
            CaseKey("ringbufs", "rb-custom", ()): frozenset(
                {"__bpf_ringbuf_reserve.isra.0", "bpf_ringbuf_query"}
            ),
            CaseKey("trigger", "trig-tp", ()): frozenset({"__bpf_ringbuf_reserve"}),
            CaseKey("cilium-ebpf", "MapInfo", ()): frozenset({"bpf_map_get_info_by_fd"}),
        }
    )

    def names(change: ChangedFile) -> list[str]:
        return [each.name for each in affected_suites(SUITES, [change], measured)]

    assert names(reserve) == ["ringbufs", "trigger"]
    assert names(query) == ["ringbufs"]
    assert names(inlined) == ["ringbufs"], "no symbol tells who inlines it: what suites declare does"
    assert names(ChangedFile(path=RESERVE, functions=frozenset(), whole=False)) == [], "comments"
    unknown = affected_suites(SUITES, [reserve], {})
    assert [(each.name, each.why) for each in unknown] == [("ringbufs", f"declares {RESERVE}")]


def test_what_a_timer_tick_executes_is_on_no_measured_path() -> None:
    def counts(seconds: float | None) -> CaseCounts:
        return CaseCounts(
            suite="s",
            benchmark="b",
            params={},
            seconds=seconds,
            counts=((3, 99_900), (1, 100), (2, 99)),
            executed=(),
        )

    assert list(measured_places(counts(1.0))) == [3]
    assert list(measured_places(counts(None))) == []


def test_what_is_kept_is_read_for_its_trust_alone(tmp_path: Path) -> None:
    keep(tmp_path, "ringbufs", "rb-custom", "__bpf_ringbuf_reserve")

    assert measured_by_case(tmp_path / "cache", "local") == {
        CaseKey("ringbufs", "rb-custom", ()): frozenset({"__bpf_ringbuf_reserve"})
    }
    assert measured_by_case(tmp_path / "cache", "outside") == {}


def test_a_run_measures_the_suites_of_its_change_and_says_why(repository: Path, tmp_path: Path) -> None:
    change(repository, RESERVE, BEFORE)
    change(repository, RESERVE, ADDED)
    said, *lines = plan(repository, tmp_path, "--base", "HEAD~", "--head", "HEAD").stdout.splitlines()
    assert said == f"Suites by what head changes in {RESERVE}: ringbufs (declares {RESERVE})"
    assert any("ringbufs: " in line for line in lines)

    keep(tmp_path, "ringbufs", "rb-custom", "bpf_ringbuf_query")
    keep(tmp_path, "trigger", "trig-tp", "__bpf_ringbuf_reserve")
    said, *lines = plan(repository, tmp_path, "--base", "HEAD~..HEAD").stdout.splitlines()
    assert said == f"Suites by what head changes in {RESERVE}: trigger (executes __bpf_ringbuf_reserve)"
    assert not any("ringbufs: " in line for line in lines)


def test_a_change_that_no_suite_executes_is_said_with_what_could_be_measured(
    repository: Path, tmp_path: Path
) -> None:
    change(repository, "Documentation/bpf/ringbuf.rst", "words\n")
    ended = plan(repository, tmp_path, "--base", "HEAD~", "--head", "HEAD")

    assert ended.exit_code == 2
    assert "no suite executes what head changes: Documentation/bpf/ringbuf.rst" in ended.stderr
    assert (
        "name the suites to measure anyway with --suite: all, or some of attaching, bloom, cilium-ebpf,"
        in ended.stderr
    )


def test_a_change_of_comments_is_said(repository: Path, tmp_path: Path) -> None:
    change(repository, RESERVE, BEFORE)
    change(repository, RESERVE, BEFORE.replace("A ring.", "The ring."))

    assert f"head changes only comments, so no suite is affected: {RESERVE}" in (
        plan(repository, tmp_path, "--base", "HEAD~", "--head", "HEAD").stderr
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--base", "HEAD", "--head", "HEAD"), "base and head have the same files, so no suite is affected"),
        (("--arm", "one=HEAD", "--arm", "two=HEAD boot=nosmt"), "the arms differ only in their settings"),
        (
            ("--base", "HEAD", "--kernel", "KERNEL"),
            "a prebuilt kernel has no revision, so it is not known what it changes",
        ),
        (
            ("--base", "HEAD", "--head", "HEAD", "--case", "nosuch"),
            "--case: no case of any suite matches 'nosuch'",
        ),
    ],
)
def test_where_nothing_says_what_changed_a_suite_must_be_named(
    repository: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    kernel = tmp_path / "linux-image.deb"
    kernel.write_bytes(b"")
    ended = plan(repository, tmp_path, *(str(kernel) if word == "KERNEL" else word for word in words))

    assert ended.exit_code == 2
    assert message in ended.stderr
    assert "suite" in ended.stderr.splitlines()[-1]


def test_cases_that_are_named_choose_their_suites(repository: Path, tmp_path: Path) -> None:
    said, *_ = plan(
        repository, tmp_path, "--base", "HEAD", "--head", "HEAD", "--case", "bloom-lookup"
    ).stdout.splitlines()[1:]

    assert said == "Suites with the cases bloom-lookup: bloom"


def test_a_module_chooses_the_suites_that_are_built_with_it(repository: Path, tmp_path: Path) -> None:
    module = "module=github.com/cilium/ebpf"
    ended = plan(
        repository, tmp_path, "--arm", f"old=HEAD {module}@v0.17.0", "--arm", f"new=HEAD {module}@v0.19.0"
    )

    assert ended.stdout.startswith("Suites that are built with github.com/cilium/ebpf: cilium-ebpf\n")


def test_a_patch_on_an_archive_chooses_too(repository: Path, tmp_path: Path) -> None:
    change(repository, RESERVE, BEFORE)
    (repository / ".git").rename(tmp_path / "away")
    patch = tmp_path / "add.patch"
    patch.write_text(
        f"Subject: bpf: Add\n---\n--- a/{RESERVE}\n+++ b/{RESERVE}\n@@ -12,5 +12,5 @@\n static void"
        " *__bpf_ringbuf_reserve(struct ring *ring,\n \t\t\t\t   int size)\n {\n-\treturn ring +"
        " round(size);\n+\treturn ring + 1 + round(size);\n }\n"
    )
    ended = plan(repository, tmp_path, "--base", "HEAD", "--head", "HEAD", "--patch", patch)

    assert ended.exit_code == 0, ended.stderr
    assert ended.stdout.startswith(
        f"Suites by what head changes in {RESERVE}: ringbufs (declares {RESERVE})\n"
    )
