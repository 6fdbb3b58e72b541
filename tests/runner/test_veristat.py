"""The suite veristat on the toy tree: what is built of it, how programs are told apart, and what is said of
those that one side lacks.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from run_command import run
from toy import change

pytestmark = pytest.mark.usefixtures("stand_in")

BPF = "tools/testing/selftests/bpf"
MAKEFILE = """\
$(OUTPUT)/bench: bench.c
	$(CC) -o $@ $<
$(OUTPUT)/veristat: veristat.sh
	cp $< $@ && chmod +x $@
$(OUTPUT)/%.bpf.o: progs/%.c
	$(CC) -c -o $@ $<
"""
VERISTAT = r"""#!/bin/sh
# Programs stand in an object as program:NAME:INSTRUCTIONS; one without instructions is refused, and one with
# 12 wants memory.
for object; do :; done
name=${object##*/}
rows=""
for each in $(grep -a -o 'program:[a-z_]*:[0-9]*' "$object"); do
  insns=${each##*:} program=${each#program:} program=${program%%:*} verdict=success error=0
  [ "$insns" != 0 ] || { verdict=failure error=22; }
  [ "$insns" != 12 ] || { verdict=failure error=12; }
  echo "cliffwatch: load $error xlated $((insns * 8)) jited $((insns * 4))"
  echo "PROCESSING $object/$program, DURATION US: 7, VERDICT: $verdict, VERIFIER LOG:"
  [ $error = 0 ] || echo "R1 type=ctx expected=fp"
  echo "processed $insns insns (limit 1000000) max_states_per_insn 0 total_states 1 peak_states 1 mark_read 0"
  rows="$rows
$name,$program,$verdict,7,$insns,1,1"
done
[ -n "$rows" ] || echo "Failed to open '$object': -95"
echo "file_name,prog_name,verdict,duration,total_insns,total_states,peak_states$rows"
"""


def source(*programs: str) -> str:
    return "".join(f'const char s{place}[] = "program:{each}";\n' for place, each in enumerate(programs))


@pytest.fixture
def tree(repository: Path) -> Path:
    """The toy tree with a veristat and two objects that the smoke profile names."""
    (repository / BPF / "progs").mkdir()
    (repository / BPF / "Makefile").write_text(MAKEFILE)
    (repository / BPF / "veristat.sh").write_text(VERISTAT)
    (repository / BPF / "progs" / "atomics.c").write_text(source("add:30", "sub:32", "never:0"))
    change(repository, f"{BPF}/progs/bpf_cubic.c", source("init:26", "state:30"), "Bring objects")
    return repository


def measured(tree: Path, *words: str) -> Any:
    ended = run(tree, "--base", "HEAD~1", "--suite", "veristat", "--format", "json", *words)
    assert ended.exit_code == 0, ended.stderr
    return json.loads(ended.stdout)


def rows(content: Any, metric: str = "total_insns") -> dict[str, tuple[str, str]]:
    return {
        f"{each['params']['object']} {each['params'].get('program')}": (each["verdict"], each["reason"])
        for each in content["comparisons"]
        if each["metric"] == metric
    }


def record(tree: Path) -> Any:
    return json.loads((tree.parent / "results" / "run.json").read_text())


def test_each_program_of_an_object_is_compared_in_every_metric(tree: Path) -> None:
    change(tree, "behaviour", "good\n\n", "bpf: Change nothing")
    content = measured(tree)

    assert {name: verdict for name, (verdict, _) in rows(content).items()} == {
        "atomics.bpf.o add": "unchanged",
        "atomics.bpf.o sub": "unchanged",
        "bpf_cubic.bpf.o init": "unchanged",
        "bpf_cubic.bpf.o state": "unchanged",
    }
    assert {name for name, _ in rows(content, "jited_size").items()} == set(rows(content))


def test_what_neither_side_takes_is_listed_and_no_failure(tree: Path) -> None:
    change(tree, "behaviour", "good\n\n", "bpf: Change nothing")
    left = {
        each["params"].get("program"): each
        for each in measured(tree)["left_out"]
        if each["status"] == "refused"
    }  # type: ignore[attr-defined]

    assert left.keys() == {"never"}
    assert left["never"]["reason"] == "R1 type=ctx expected=fp"


def test_a_program_that_head_refuses_stands_first_with_the_verifiers_word(tree: Path) -> None:
    change(tree, f"{BPF}/progs/bpf_cubic.c", source("init:26", "state:0", "newer:5"), "bpf: Break state")
    content = measured(tree)
    first = content["comparisons"][0]

    assert first["params"] == {"object": "bpf_cubic.bpf.o", "program": "state"}
    assert (first["verdict"], first["reason"]) == ("failed", "head refuses it: R1 type=ctx expected=fp")
    assert sum(each["params"]["program"] == "state" for each in content["comparisons"]) == 1  # type: ignore[attr-defined]
    assert rows(content)["bpf_cubic.bpf.o newer"] == ("missing", "only in head")
    assert rows(content)["bpf_cubic.bpf.o init"][0] == "unchanged"


def test_the_text_has_it_on_top_and_counts_what_did_not_change(tree: Path) -> None:
    change(tree, f"{BPF}/progs/bpf_cubic.c", source("init:28", "state:0"), "bpf: Break state")
    text = run(tree, "--base", "HEAD~1", "--suite", "veristat").stdout
    lines = [line.strip() for line in text.splitlines()]
    first = lines.index("verify/object=bpf_cubic.bpf.o")

    assert text.startswith("1 failed, 3 worse")
    assert lines[first - 2].startswith("! failed: veristat, total_insns")
    assert lines[first + 1].startswith("state ")
    assert "head refuses it: R1 type=ctx expected=fp" in text
    assert "    init  26.000" in text
    assert "    add " not in text
    assert "base  head  change\n  3 more rows" not in text
    assert "of 3 programs in 2 objects: unchanged" in text


def test_a_program_that_only_base_refused_is_fixed(tree: Path) -> None:
    change(tree, f"{BPF}/progs/atomics.c", source("add:30", "never:3"), "bpf: Take never")
    found = rows(measured(tree))

    assert found["atomics.bpf.o never"] == (
        "missing",
        "fixed: head takes it, and base refused it: R1 type=ctx expected=fp",
    )
    assert found["atomics.bpf.o sub"] == ("missing", "only in base")


def test_an_object_that_does_not_build_on_one_side_is_missing_with_the_compilers_error(tree: Path) -> None:
    change(tree, f"{BPF}/progs/bpf_cubic.c", "#error no such thing\n", "bpf: Break an object")
    found = rows(measured(tree))

    assert found["bpf_cubic.bpf.o init"] == ("missing", "head: does not build: #error no such thing")
    assert found["atomics.bpf.o add"][0] == "unchanged"
    assert "1 object of head not built: bpf_cubic.bpf.o" in " ".join(record(tree)["notes"])  # type: ignore[arg-type]


def test_an_object_that_builds_nowhere_is_listed_and_the_rest_measured(tree: Path) -> None:
    change(tree, f"{BPF}/progs/bpf_cubic.c", "#error no such thing\n", "bpf: Break an object")
    change(tree, "behaviour", "good\n\n", "bpf: Change nothing")
    content = measured(tree, "--profile", "full")
    left = [each for each in record(tree)["left_out"] if each["params"]["object"] == "bpf_cubic.bpf.o"]  # type: ignore[attr-defined]

    assert [(each["status"], each["reason"]) for each in left] == [
        ("not-run", "does not build: #error no such thing")
    ]
    assert rows(content)["atomics.bpf.o add"][0] == "unchanged"


def test_full_has_every_object_of_the_tree(tree: Path) -> None:
    change(tree, f"{BPF}/progs/of_this_tree.c", source("alone:9"), "bpf: Bring an object")
    content = measured(tree, "--profile", "full")

    assert rows(content)["of_this_tree.bpf.o alone"] == (
        "missing",
        "base: this tree has no of_this_tree.bpf.o",
    )


def test_one_sides_objects_serve_both_kernels_where_that_is_asked(tree: Path) -> None:
    change(tree, f"{BPF}/progs/bpf_cubic.c", source("init:99"), "bpf: Change an object")
    found = rows(measured(tree, "--bench-from", "base"))

    assert found["bpf_cubic.bpf.o init"][0] == "unchanged"
    assert found["bpf_cubic.bpf.o state"][0] == "unchanged"


def test_a_folder_of_ones_own_is_verified_instead(tree: Path, tmp_path: Path) -> None:
    change(tree, "behaviour", "good\n\n", "bpf: Change nothing")
    folder = tmp_path / "objects"
    folder.mkdir()
    (folder / "mine.o").write_text("program:entry:41")
    (folder / "odd.o").write_text("nothing that is an object")
    content = measured(tree, "--data", str(folder))
    left = {
        each["params"]["object"]: each["reason"]
        for each in content["left_out"]
        if each["status"] == "refused"
    }  # type: ignore[attr-defined]

    assert rows(content) == {"mine.o entry": rows(content)["mine.o entry"]}
    assert left == {"odd.o": "libbpf cannot open it as a BPF object (errno 95)"}
    assert record(tree)["data"]["name"] == "objects.tar"


def test_a_folder_without_an_object_is_told(tree: Path, tmp_path: Path) -> None:
    ended = run(tree, "--suite", "veristat", "--data", str(tmp_path))

    assert ended.exit_code == 2
    assert f"there is no object in {tmp_path}" in ended.stderr


def test_a_folder_is_for_suites_of_objects(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.o").write_text("program:entry:41")
    ended = run(tree, "--suite", "local-storage", "--data", str(tmp_path))

    assert ended.exit_code == 2
    assert "only suites of BPF objects take a folder" in ended.stderr


def test_want_of_memory_is_a_failure_and_no_refusal(tree: Path) -> None:
    change(tree, f"{BPF}/progs/bpf_cubic.c", source("init:26", "state:12"), "bpf: Want memory")
    found = rows(measured(tree))["bpf_cubic.bpf.o state"]

    assert found[0] == "failed"
    assert "too little memory to verify it: give it more with --memory" in found[1]


def test_a_guest_that_is_too_small_is_told_before_it_is_booted(tree: Path) -> None:
    ended = run(tree, "--suite", "veristat", "--memory", "512")

    assert ended.exit_code == 2
    assert "needs 1024 MiB, the guest has 512" in ended.stderr


def test_a_tree_without_veristat_has_failed(tree: Path) -> None:
    change(tree, f"{BPF}/Makefile", "$(OUTPUT)/bench: bench.c\n\t$(CC) -o $@ $<\n", "bpf: Take veristat away")
    change(tree, "behaviour", "good\n\n", "bpf: Change nothing")
    ended = run(tree, "--base", "HEAD~1", "--suite", "veristat")

    assert ended.exit_code == 3
    assert "veristat" in ended.stderr
