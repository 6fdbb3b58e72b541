"""What veristat says of each program of an object, as it was recorded on linux 6.12 in a guest that counts
instructions.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.parsers.veristat_programs import NO_MEMORY, VerifiedProgram, read_verified

OUTPUTS = Path(__file__).parents[1] / "data" / "suites" / "outputs"


def recorded(name: str, where: str = "6.12-tcg") -> str:
    return (OUTPUTS / f"veristat-{name}-{where}.out").read_text()


def program(text: str, name: str) -> VerifiedProgram:
    return next(each for each in read_verified(text).programs if each.name == name)


def test_a_program_has_its_counts_and_the_sizes_of_its_own_load() -> None:
    read = read_verified(recorded("bpf_cubic"))
    avoid = next(each for each in read.programs if each.name == "bpf_cubic_cong_avoid")

    assert len(read.programs) == 7
    assert all(each.taken for each in read.programs)
    assert (read.complaint, read.problems) == ("", ())
    assert {metric: value for metric, value in avoid.values.items() if metric != "duration"} == {
        "total_insns": (2309, "insns"),
        "total_states": (111, "states"),
        "peak_states": (66, "states"),
        "size": (285, "insns"),
        "jited_size": (1191, "bytes"),
        "load": (6514643, "ns/load"),
    }


def test_a_program_that_is_refused_has_the_verifiers_word_and_no_numbers() -> None:
    good, bad = read_verified(recorded("test_log_buf")).programs

    assert good.taken
    assert good.values["size"][0] > 0
    assert (bad.taken, bad.values) == (False, {})
    assert bad.reason == "R2 min value is outside of the allowed memory range"


def test_a_program_that_never_comes_to_the_verifier_has_libbpfs_word() -> None:
    (only,) = read_verified(recorded("raw_tp_null")).programs

    assert not only.taken
    assert only.reason.startswith("prog 'test_raw_tp_null': failed to find kernel BTF type ID")


def test_a_program_that_falls_with_another_has_the_others_reason() -> None:
    """Programs of struct_ops are loaded together."""
    read = read_verified(recorded("bpf_cubic-refused", "tcg"))
    reasons = {each.name: each.reason for each in read.programs}

    assert not any(each.taken for each in read.programs)
    assert reasons["bpf_cubic_cong_avoid"] == "BPF program is too large. Processed 2001 insn"
    assert reasons["bpf_cubic_init"] == "bpf_cubic_cong_avoid: BPF program is too large. Processed 2001 insn"


def test_an_object_that_does_not_open_says_why() -> None:
    read = read_verified(recorded("test_pinning_invalid"))

    assert read.programs == ()
    assert read.complaint == "map 'nopinmap3': invalid pinning value 2."


def test_what_newer_veristats_print_themselves_goes_first() -> None:
    text = recorded("bpf_cubic")
    header, *rows = [line for line in text.splitlines() if line.startswith(("file_name", "bpf_cubic"))]
    newer = "\n".join([f"{header},size", *(f"{row},999" for row in rows)])

    assert program(text[: text.index("file_name")] + newer, "bpf_cubic_init").values["size"] == (999, "insns")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("cliffwatch: load 12 xlated 0 jited 0", NO_MEMORY),
        ("libbpf: map 'big': failed to create: Cannot allocate memory(-12)", NO_MEMORY),
        ("cliffwatch: load 22 xlated 0 jited 0", 22),
    ],
)
def test_want_of_memory_is_told_apart(said: str, error: int) -> None:
    text = (
        f"{said}\nPROCESSING /tmp/x.bpf.o/p, DURATION US: 0, VERDICT: failure, VERIFIER LOG:\n\n"
        "file_name,prog_name,verdict,duration,total_insns,total_states,peak_states\nx.bpf.o,p,failure,0,0,0,0\n"
    )

    assert program(text, "p").error == error


def test_a_program_without_a_load_has_no_size() -> None:
    """Nothing looked over the shoulder: what is not known is not 0."""
    text = "\n".join(
        line for line in recorded("bpf_cubic").splitlines() if not line.startswith("cliffwatch: ")
    )

    assert set(program(text, "bpf_cubic_init").values) == {
        "duration",
        "total_insns",
        "total_states",
        "peak_states",
    }


_LINES = st.sampled_from(
    [
        *recorded("bpf_cubic").splitlines(),
        *recorded("test_pinning_invalid").splitlines(),
        "PROCESSING x/y, DURATION US: 1, VERDICT: success, VERIFIER LOG:",
        "file_name,prog_name,",
        "cliffwatch: load 0 xlated 8 jited 9999999999",
    ]
)


@given(st.lists(_LINES | st.text(max_size=40)).map("\n".join))
def test_no_text_makes_a_traceback(text: str) -> None:
    read_verified(text)
