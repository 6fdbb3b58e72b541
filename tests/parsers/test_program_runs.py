"""What prog-run says of each program of an object."""

from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.parsers.program_runs import read_program_runs

OUTPUT = """\
walk\tpacket-changed\t0
walk\tns/run\t2210.5
walk\tns/run\t2211.5
walk\tns/run\t2230
walk\toverhead\t84.1
walk\tretval\t2
probe\tunsupported\tBPF_PROG_RUN: the kernel has no BPF_PROG_RUN for its type (errno 524)
wild\trefused\tR1 offset is outside of the packet
"""


def test_a_program_has_the_median_of_its_batches_and_what_it_returned() -> None:
    walk, *_ = read_program_runs(OUTPUT).programs

    assert walk.values() == {
        "packet-changed": (0, "result", ()),
        "ns/run": (2211.5, "ns/run", (2210.5, 2211.5, 2230)),
        "overhead": (84.1, "ns/run", ()),
        "retval": (2, "result", ()),
    }


def test_what_was_not_measured_has_a_reason_and_no_numbers() -> None:
    _, probe, wild = read_program_runs(OUTPUT).programs

    assert (probe.status, probe.values()) == ("unsupported", {})
    assert probe.reason.startswith("BPF_PROG_RUN: the kernel has no")
    assert (wild.status, wild.reason) == ("refused", "R1 offset is outside of the packet")


def test_a_program_that_fails_in_between_has_no_numbers() -> None:
    (walk,) = read_program_runs("walk\tns/run\t2210\nwalk\tfailed\tBPF_PROG_RUN: Interrupted\n").programs

    assert (walk.status, walk.values()) == ("failed", {})


def test_an_output_that_is_cut_off_is_a_failure_of_the_program_it_ends_in() -> None:
    (walk,) = read_program_runs("walk\tpacket-changed\t0\n").programs

    assert (walk.status, walk.reason) == ("failed", "prog-run ended before it was measured")


def test_an_object_that_cannot_be_opened_has_libbpfs_word() -> None:
    read = read_program_runs("\trefused\tlibbpf: elf: 'odd.o' is not a proper ELF object\n")

    assert (read.programs, read.complaint) == ((), "libbpf: elf: 'odd.o' is not a proper ELF object")


@given(st.text(alphabet="ab\t\n0.nsru/efailed"))
def test_any_output_is_read(text: str) -> None:
    read = read_program_runs(text)

    assert all(each.values() == {} for each in read.programs if each.status != "ok")
