"""Empty loops that bench has not: bench is built a second time without the lookups, and both run in the same
boots.
"""

from pathlib import Path

import pytest
from toy import change, request, run_toy

from cliffwatch.formats.result_directory import Run
from cliffwatch_runner.build.worktree import BUILD

pytestmark = pytest.mark.usefixtures("stand_in")

SELFTESTS = "tools/testing/selftests/bpf"
MAKEFILE = """\
$(OUTPUT)/bench: bench.c $(OUTPUT)/local_storage_bench.bpf.o
	$(CC) -o $@ $<
$(OUTPUT)/local_storage_bench.bpf.o: progs/local_storage_bench.c
	$(CLANG) -O2 -Wno-unused -c -o $@ $<
"""
PROGRAM = """\
static void *(* const bpf_map_lookup_elem)(void *map, const void *key) = (void *) 1;
static void *(* const bpf_task_storage_get)(void *map, void *task, void *value, long flags) = (void *) 156;
void *loop(void *map, void *task, int key)
{
	void *inner_map = bpf_map_lookup_elem(map, &key);
	if (!inner_map)
		return 0;
	if (key)
		bpf_map_lookup_elem(inner_map, &key);
	else
		bpf_task_storage_get(inner_map, task, &key, 1);
	return inner_map;
}
"""
LOOP = "local-storage-seq-get-empty-loop"


@pytest.fixture
def with_program(repository: Path) -> Path:
    (repository / SELFTESTS / "progs").mkdir()
    (repository / SELFTESTS / "progs" / "local_storage_bench.c").write_text(PROGRAM)
    change(repository, f"{SELFTESTS}/Makefile", MAKEFILE, "bench: Have a program")
    return repository


def run(repository: Path, folder: Path) -> Run:
    ended = run_toy(request(repository, folder, base="HEAD", profile="standard"))
    assert isinstance(ended, Run), ended
    return ended


def programs(folder: Path) -> tuple[Path, Path]:
    (entry,) = (folder / "cache" / "benches").iterdir()
    return entry / "bench", entry / "bench-empty-loop"


def test_a_case_and_its_empty_loop_run_in_the_same_boots(with_program: Path, tmp_path: Path) -> None:
    plan = run(with_program, tmp_path).record.plan
    names = [case.benchmark for case in plan.cases]
    loop = names.index(LOOP)

    assert plan.cases[loop].argv[-1] == "local-storage-cache-seq-get"
    assert all(
        boot.cases is not None and {loop, names.index("local-storage-cache-seq-get")} <= set(boot.cases)
        for boot in plan.boots
    )
    assert programs(tmp_path)[1].stat().st_size > 0


def test_what_a_worktree_keeps_for_the_next_build_is_not_emptied(with_program: Path, tmp_path: Path) -> None:
    run(with_program, tmp_path)
    # Isolated builds have their output beside the source, at a place that never changes; others below it.
    worktrees = tmp_path / "cache" / "worktrees"
    (output,) = [*worktrees.glob("*/output/bench"), *worktrees.glob(f"*/source/{BUILD}/bench")]

    assert (output / "bench").read_bytes() == programs(tmp_path)[0].read_bytes()
    assert not (output / "local_storage_bench.bpf.o").exists()


@pytest.mark.parametrize(
    ("was", "now"),
    [("inner_map, &key);\n\telse", "key ? inner_map : map, &key);\n\telse"), ("bpf_", "bpf_other_")],
    ids=["a lookup that the header cannot read", "lookups of other names"],
)
def test_a_program_that_cannot_be_emptied_leaves_its_loop_unsupported(
    with_program: Path, tmp_path: Path, was: str, now: str
) -> None:
    change(
        with_program,
        f"{SELFTESTS}/progs/local_storage_bench.c",
        PROGRAM.replace(was, now),
        "bench: Look up otherwise",
    )
    ended = run(with_program, tmp_path)
    left = {outcome.benchmark: outcome for outcome in ended.record.left_out}

    assert programs(tmp_path)[1].stat().st_size == 0
    assert LOOP not in [case.benchmark for case in ended.record.plan.cases]
    assert left[LOOP].status == "unsupported"
    assert "cannot be taken out" in left[LOOP].reason
