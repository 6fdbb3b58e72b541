"""Matched layouts: head linked so that the functions it shares with base have base's addresses modulo a page."""

import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from cliffwatch_runner.build.layouts.matched import too_few_match
from cliffwatch_runner.build.layouts.matching import (
    Addresses,
    Match,
    Place,
    count_matches,
    matching_padding,
    parse_addresses,
    parse_places,
    unchanged_functions,
)
from cliffwatch_runner.build.layouts.padding import pad_object, padded_members

OBJECTS = tuple(f"part-{number}.o" for number in range(12))
PAD = "pad-{}.o"


def compiled(folder: Path, statements: Mapping[int, int]) -> Path:
    """A kernel of twelve objects, each with code in three sections; some do more, which moves what follows."""
    folder.mkdir()
    for number, name in enumerate(OBJECTS):
        source = folder / f"{name[:-2]}.c"
        source.write_text(
            "extern volatile int value;\n"
            f"int part_{number}(void) {{ {'value++;' * statements.get(number, 3)} return {number}; }}\n"
            f"static int __attribute__((used)) helper(void) {{ {'value++;' * number} return {number}; }}\n"
            f'__attribute__((section(".sched.text"))) int sched_{number}(void)'
            f" {{ {'value--;' * statements.get(number, 1)} return {number}; }}\n"
            + ("volatile int value;\nint _start(void) { return 0; }\n" if number == 0 else "")
        )
        subprocess.run(
            ["gcc", "-O2", "-falign-functions=16", "-c", source.name, "-o", name], cwd=folder, check=True
        )
    return folder


def linked(folder: Path, objects: Iterable[str]) -> Addresses:
    subprocess.run(["ld", "--fatal-warnings", "-o", "whole", *objects], cwd=folder, check=True)
    return parse_addresses(shown("nm", "-n", "whole", of=folder))


def shown(*command: str, of: Path) -> str:
    return subprocess.run(command, cwd=of, check=True, capture_output=True, text=True).stdout


def base_image(base: Path, seed: int) -> Addresses:
    padded = list(padded_members(OBJECTS, seed, PAD))
    for name in {*padded} - {*OBJECTS}:
        (base / name).write_bytes(pad_object({".text": int(name[4:-2])}))
    return linked(base, padded)


def matched_image(head: Path, padding: Mapping[Place, int]) -> Addresses:
    padded: list[str] = []
    for name in OBJECTS:
        sections = {section: size for (member, section), size in padding.items() if member == name}
        if sections:
            (head / f"match-{name}").write_bytes(pad_object(sections, alignment=1))
            padded.append(f"match-{name}")
        padded.append(name)
    return linked(head, padded)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_function_that_head_shares_gets_the_address_that_base_has_modulo_a_page(
    tmp_path: Path, seed: int
) -> None:
    base = compiled(tmp_path / "base", {})
    head = compiled(tmp_path / "head", {2: 40, 7: 20})
    built = linked(head, OBJECTS)
    unchanged = unchanged_functions(linked(base, OBJECTS), built)
    assert {("part_2", 0), ("sched_7", 0)}.isdisjoint(unchanged)
    assert {("part_3", 0), ("helper", 3), ("sched_8", 0)} <= unchanged

    target = base_image(base, seed)
    assert count_matches(unchanged, built, target).share < 0.5
    places = parse_places(shown("nm", "-A", "-n", "-f", "sysv", "--defined-only", *OBJECTS, of=head))
    image: Addresses = built
    padding: Mapping[Place, int] = {}
    for _ in range(2):
        padding = matching_padding(places, unchanged, image, target, padding)
        image = matched_image(head, padding)
    behind_the_change = {("helper", 2), ("helper", 7)}
    elsewhere = {each for each in unchanged if (image[each] - target[each]) % 4096}
    assert elsewhere <= behind_the_change
    assert sum(padding.values()) < 4096 * len(padding)


def test_a_function_that_only_head_has_pads_nothing_and_moves_nobody_else(tmp_path: Path) -> None:
    base = parse_addresses("0000000000001000 T first\n0000000000001040 T second\n0000000000001080 T third\n")
    head = parse_addresses(
        "0000000000001000 T first\n0000000000001040 T fresh\n0000000000001060 T second\n0000000000001090 T third\n"
    )
    places = {(f"{name}.o", ".text"): [(name, 0)] for name in ("first", "fresh", "second", "third")}
    padding = matching_padding(places, unchanged_functions(base, head) | {("third", 0)}, head, base, {})
    assert padding == {("third.o", ".text"): 0x1080 - 0x1090 + 4096}


def test_the_init_code_is_linked_apart_and_not_moved_by_padding_before_it() -> None:
    places: Mapping[Place, list[tuple[str, int]]] = {
        ("a.o", ".text"): [("run", 0)],
        ("a.o", ".init.text"): [("init", 0)],
    }
    image = {("run", 0): 0x1010, ("init", 0): 0x8000}
    target = {("run", 0): 0x2020, ("init", 0): 0x9000}
    padding = matching_padding(places, frozenset(image), image, target, {})
    assert padding == {("a.o", ".text"): 0x10}


def test_code_that_is_aligned_to_a_page_is_not_moved_by_padding_before_it() -> None:
    places: Mapping[Place, list[tuple[str, int]]] = {
        ("a.o", ".text"): [("run", 0)],
        ("entry.o", ".entry.text"): [("entry", 0)],
        ("entry_64.o", ".entry.text"): [("entry_64", 0)],
    }
    image = {("run", 0): 0x1010, ("entry", 0): 0x200000, ("entry_64", 0): 0x200040}
    target = {("run", 0): 0x2020, ("entry", 0): 0x200000, ("entry_64", 0): 0x200040}
    padding = matching_padding(places, frozenset(image), image, target, {})
    assert padding == {("a.o", ".text"): 0x10}


def test_what_padding_moved_wrongly_is_put_right_by_a_second_link() -> None:
    places: Mapping[Place, list[tuple[str, int]]] = {
        ("a.o", ".text"): [("run", 0)],
        ("b.o", ".aligned"): [("late", 0)],
        ("c.o", ".aligned"): [("later", 0)],
    }
    target = {("run", 0): 0x2020, ("late", 0): 0x8040, ("later", 0): 0x8080}
    before = {("a.o", ".text"): 0x10, ("b.o", ".aligned"): 0xAC0}
    image = {("run", 0): 0x2020, ("late", 0): 0x8B00, ("later", 0): 0x8B40}
    padding = matching_padding(places, frozenset(image), image, target, before)
    assert padding == {("a.o", ".text"): 0x10}
    assert matching_padding(places, frozenset(image), target, target, padding) == padding


def test_a_listing_may_hold_anything() -> None:
    assert parse_places("nonsense\na|b|T|||||\n||T||||\n") == {}
    assert parse_addresses("zz T name\n0 T\n0000000000000010 d data\n") == {}


def test_without_a_shared_function_nothing_matches() -> None:
    assert count_matches((), {}, {}) == Match(0, 0)
    assert Match(0, 0).share == 0.0


def test_a_share_that_misses_the_limit_is_not_rounded_up_to_it() -> None:
    said = str(too_few_match(Match(equal=9896, of=10_000)))
    assert said.startswith("only 98.9% of its 10,000 unchanged functions have base's addresses")
    assert "(at least 99% must)" in said
