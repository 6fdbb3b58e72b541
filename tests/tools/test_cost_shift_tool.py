"""The edits of `make cost-shift`: a refactoring keeps the work, a cost adds to it, and a report is judged by both."""

import json
import sys
from pathlib import Path
from random import Random

import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools")]
from cost_shift.edits import Place  # noqa: E402
from cost_shift.judging import Truth, judge  # noqa: E402
from cost_shift.refactorings import (  # noqa: E402
    TRIE,
    body_extracted,
    draw,
    inlined,
    out_of_line,
    renamed,
    to_another_file,
)
from cost_shift.regressions import KINDS  # noqa: E402
from cost_shift.source import Absent, find_function, patch_of  # noqa: E402

PATH = "kernel/bpf/hashtab.c"
TEXT = """\
#include <linux/bpf.h>

static inline u32 hash(const void *key, u32 len)
{
	return len;
}

/* a comment */
static long htab_update(struct bpf_map *map, void *key)
{
	u32 len = 4;

	return hash(key, len);
}

const struct bpf_map_ops ops = { .update = htab_update };
"""
FILES = {PATH: TEXT, "kernel/bpf/Makefile": "obj-y += syscall.o\nobj-y += lpm_trie.o hashtab.o\n"}
HASH, UPDATE = Place(PATH, "hash", "hashmap", "*"), Place(PATH, "htab_update", "hashmap", "*")


def test_a_renamed_function_is_renamed_wherever_its_file_names_it() -> None:
    assert renamed(FILES, UPDATE)[PATH].count("htab_update_2") == 2


def test_a_function_is_inlined_or_taken_out_of_line() -> None:
    assert "static __always_inline u32 hash(" in inlined(FILES, HASH)[PATH]
    assert "static noinline u32 hash(" in out_of_line(FILES, HASH)[PATH]


def test_what_a_function_did_is_behind_a_wrapper() -> None:
    text = body_extracted(FILES, UPDATE)[PATH]
    assert "static noinline long htab_update_body(struct bpf_map *map, void *key)\n" in text
    assert "{\n\treturn htab_update_body(map, key);\n}\n" in text


def test_a_function_goes_to_a_file_of_its_own() -> None:
    files = to_another_file(FILES, HASH)
    assert "hash_2.o" in files["kernel/bpf/Makefile"]
    assert files["kernel/bpf/hash_2.c"].endswith("{\n\treturn len;\n}\n")
    assert "\nnotrace u32 hash(const void *key, u32 len)\n{" in files["kernel/bpf/hash_2.c"]
    assert "len);\n\n/* a comment" in files[PATH]
    assert patch_of(FILES, files).startswith(f"diff --git a/{PATH} b/{PATH}\n")


@pytest.mark.parametrize("kind", KINDS)
def test_a_cost_stands_after_the_declarations(kind: str) -> None:
    text = KINDS[kind](FILES, UPDATE)[PATH]
    body = text[find_function(text, "htab_update").body :]
    assert body.index("u32 len = 4;") < body.index("planted") < body.index("return hash")


@pytest.mark.parametrize(("minor", "paths"), [(17, [PATH]), (18, [TRIE])])
def test_only_what_a_benchmark_of_the_tree_executes_is_drawn(minor: int, paths: list[str]) -> None:
    files = {"Makefile": f"VERSION = 6\nPATCHLEVEL = {minor}\n"}
    places = (Place(TRIE, "trie_lookup_elem", "lpm-trie", "*"), HASH)

    assert [place.path for place in draw(places, 1, files, Random(1))] == paths


def test_a_tree_without_the_function_is_said() -> None:
    with pytest.raises(Absent, match="no function gone"):
        find_function(TEXT, "gone")


DEMONSTRATION = ROOT / "tests/data/golden/demonstration.json"
"""Its bpf_local_storage_lookup was part of __bpf_task_storage_get."""
LOOKUP, GET = "bpf_local_storage_lookup", "__bpf_task_storage_get"


@pytest.mark.parametrize(
    ("expected", "functions", "told", "right"),
    [
        ("moved", (GET, LOOKUP), "moved", True),
        ("moved", (GET, "other"), "nothing", False),
        ("slower", (LOOKUP,), "moved", False),
    ],
)
def test_a_move_is_judged_by_its_functions(
    expected: str, functions: tuple[str, ...], told: str, right: bool
) -> None:
    outcome = judge(Truth("m1", "split", expected, functions), DEMONSTRATION.read_text())
    assert (outcome.told, outcome.right) == (told, right)


def test_a_cost_is_right_if_its_function_is_called_slower() -> None:
    document = json.loads(DEMONSTRATION.read_text())
    for case in document["functions"]:
        case["moves"] = []
    outcome = judge(Truth("r1", "a load", "slower", (LOOKUP,)), json.dumps(document))
    assert (outcome.told, outcome.right) == ("slower", True)
    assert judge(Truth("m1", "split", "moved", (GET, LOOKUP)), json.dumps(document)).told == "slower"
