"""Which functions differ between two builds: small kernels, really compiled and linked, in the form of a real
one.
"""

from pathlib import Path

import pytest
from compiled_code import HEADER, PLAIN, SOURCE, build, digests, packed

from cliffwatch.failure import Failure
from cliffwatch_runner.build.code.functions import find_differing, function_digests, function_listings
from cliffwatch_runner.build.code.image import KernelImage, read_image
from cliffwatch_runner.sandbox.isolation import choose_guest_sandbox
from cliffwatch_runner.sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("kernels") / "base")


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("x * 3", "x * 5", {"uses_inline"}),
        ("x ^ 0x5a", "x ^ 0x5b", {"jit"}),
        ("x + 11", "x + 12", {"helper"}),
        ("{1, 2, 3, 4}", "{1, 2, 3, 5}", {"uses_table"}),
        ("setting = 7", "setting = 8", {"uses_setting"}),
        ("a text that stays", "a text that varies", {"uses_text"}),
        (".run = helper", ".run = jit", {"uses_pointer"}),
        ("return helper(x) + 1", "return jit(x) + 1", {"calls"}),
        ("#define APART", "/* a remark */\n\n#define APART", set()),
        ("APART int say(", "APART int added(int x) { return x * counter + 99; }\nAPART int say(", {"added"}),
        ("int counter;", "int counter, another = 3;\nchar room[4096] = {1};", set()),
    ],
    ids=[
        "inline",
        "jit",
        "helper",
        "constant",
        "data",
        "text",
        "pointer",
        "callee",
        "comment",
        "moved-code",
        "moved-data",
    ],
)
def test_a_change_is_seen_in_the_functions_that_it_reaches(
    base: Path, tmp_path: Path, old: str, new: str, changed: set[str]
) -> None:
    """The code itself, what is inlined into it, and the data that it refers to; not where other code and data
    came to lie.
    """
    assert old in SOURCE + HEADER
    head = build(tmp_path / "head", SOURCE.replace(old, new), HEADER.replace(old, new))

    assert find_differing(digests(base), digests(head)) == changed


STARTS = """
typedef int initcall;
#define CALLED_AT_START(level, fn) asm(".section .initcall" #level ",\\"aw\\"\\n__initcall__" #fn #level ": .long " #fn " - .\\n.previous")
extern initcall __initcall_start[], __initcall1_start[], __initcall_end[];
static initcall *levels[] = {__initcall_start, __initcall1_start, __initcall_end};
APART int one(initcall *fn) { return ((int (*)(int))((unsigned long)fn + *fn))(1); }
APART int starts_first(void) { int sum = 0; for (initcall *fn = __initcall_start; fn < __initcall1_start; fn++) sum += one(fn); return sum; }
APART int starts_rest(int level) { int sum = 0; for (initcall *fn = levels[level]; fn < levels[level + 1]; fn++) sum += one(fn); return sum; }
CALLED_AT_START(0, calls);
CALLED_AT_START(1, helper);
CALLED_AT_START(1, jit);
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("APART int say(", "APART int added(int x) { return x * counter + 99; }\nAPART int say(", {"added"}),
        ("int counter;", "int counter, another = 3;\nchar room[4096] = {1};", set()),
        ("CALLED_AT_START(1, jit)", "CALLED_AT_START(1, untouched)", {"starts_first", "starts_rest"}),
        ("CALLED_AT_START(1, jit)", "CALLED_AT_START(0, jit)", {"starts_first", "starts_rest"}),
        (
            "CALLED_AT_START(1, jit);",
            "CALLED_AT_START(1, jit); CALLED_AT_START(1, uses_key);",
            {"starts_first", "starts_rest"},
        ),
    ],
    ids=["moved-code", "moved-data", "another-function", "another-level", "one-more"],
)
def test_what_a_kernel_calls_as_it_starts_is_known_by_names(
    tmp_path: Path, old: str, new: str, changed: set[str]
) -> None:
    """Its table holds distances, which differ wherever code or data moved."""
    source = SOURCE + STARTS
    assert old in source
    before, after = build(tmp_path / "base", source), build(tmp_path / "head", source.replace(old, new))

    assert find_differing(digests(before), digests(after)) == changed


def test_a_static_key_that_begins_true_is_seen(base: Path, tmp_path: Path) -> None:
    head = build(tmp_path / "head", SOURCE, HEADER, "-DKEY_TRUE")

    assert find_differing(digests(base), digests(head)) == {"uses_key"}


def test_a_listing_has_names_in_the_place_of_addresses(base: Path) -> None:
    listings = function_listings(base, ["calls", "jit", "nowhere"], PLAIN)

    assert not isinstance(listings, Failure), listings
    assert listings.keys() == {"calls", "jit"}
    calls = "\n".join(listings["calls"][1])
    assert "call helper" in calls
    assert "ffffffff81" not in calls
    assert listings["jit"][1][-1].startswith("ret")


@pytest.mark.namespaces
def test_a_kernel_is_listed_in_the_sandbox(base: Path) -> None:
    """The same answer, from a process that has neither this host's homes nor its network."""
    sandbox = choose_guest_sandbox("auto")
    assert isinstance(sandbox, Sandbox)

    assert function_listings(base, ["calls"], sandbox) == function_listings(base, ["calls"], PLAIN)


def test_digests_are_kept(base: Path, tmp_path: Path) -> None:
    first = function_digests(base, tmp_path, PLAIN)
    (base / "bzImage").rename(base / "away")
    try:
        assert function_digests(base, tmp_path, PLAIN) == first
    finally:
        (base / "away").rename(base / "bzImage")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "bzImage is no bzImage"),
        (b"\0" * 4096, "bzImage is no bzImage"),
        (packed(b"")[:1024] + b"\x1f\x8b" + b"\xff" * 100, "bzImage is packed in a way that is not known"),
        (packed(b"no kernel"), "bzImage has no kernel of 64 bits in it"),
        (packed(b"\x7fELF\x02" + b"\xff" * 100), "the kernel in bzImage is cut short"),
    ],
    ids=["empty", "zeros", "no-gzip", "no-elf", "cut"],
)
def test_an_image_that_is_none_is_a_sentence(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "bzImage").write_bytes(content)

    failure = read_image(tmp_path / "bzImage")

    assert isinstance(failure, Failure)
    assert failure.message == why


def test_a_kernel_without_a_map_cannot_be_compared(base: Path, tmp_path: Path) -> None:
    (tmp_path / "bzImage").write_bytes((base / "bzImage").read_bytes())

    failure = function_digests(tmp_path, tmp_path / "cache", PLAIN)

    assert isinstance(failure, Failure)
    assert failure.message == "it came without a System.map, which says where its functions lie"


def test_a_hostile_map_gives_digests_all_the_same(base: Path, tmp_path: Path) -> None:
    lines = (base / "System.map").read_text().splitlines()
    twisted = [
        *lines,
        "ffffffffffffffff T end",
        "ffffffff81000000 T \x1b[31m",
        "0000000000000000 T _stext",
        "x" * 5000,
    ]
    (tmp_path / "System.map").write_text("\n".join(reversed(twisted)))
    (tmp_path / "bzImage").write_bytes((base / "bzImage").read_bytes())

    assert not isinstance(function_digests(tmp_path, tmp_path / "cache", PLAIN), Failure)


def test_an_image_shows_what_it_has() -> None:
    assert KernelImage(()).read(0xFFFFFFFF81000000, 4) == b""
