"""Reports of the kernel about itself are recognised, and belong to the case in which they were printed."""

from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.parsers.splats import find_splats

WARNING = """\
[    2.1] cliffwatch: case 000-trig-fentry
[    3.0] ------------[ cut here ]------------
[    3.1] WARNING: CPU: 0 PID: 71 at kernel/bpf/core.c:2000 bpf_prog_run+0x1/0x2
[    3.2] Modules linked in:
[    3.3] ---[ end trace 0000000000000000 ]---
[    4.0] cliffwatch: case 001-trig-fexit
[    5.0] perf: interrupt took too long
"""


def test_a_warning_is_recognised_with_the_case_that_was_running() -> None:
    (splat,) = find_splats(WARNING)

    assert splat.case == "000-trig-fentry"
    assert "kernel/bpf/core.c:2000" in splat.title
    assert splat.text.endswith("---[ end trace 0000000000000000 ]---")
    assert not splat.panic


def test_a_panic_is_distinguished_from_a_warning() -> None:
    (splat,) = find_splats(
        "[    1.5] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n"
    )

    assert splat.panic
    assert splat.case is None


def test_a_report_that_brings_several_alarms_is_one_splat() -> None:
    log = (
        "[    1.0] BUG: kernel NULL pointer dereference, address: 0000000000000008\n"
        "[    1.1] Oops: Oops: 0000 [#1] SMP\n"
        "[    1.2] ---[ end trace 0000000000000000 ]---\n"
    )

    assert len(find_splats(log)) == 1


def test_what_a_program_prints_is_no_splat() -> None:
    assert find_splats("WARNING: proportionality check failed\nlibbpf: BUG: not of the kernel\n") == ()


def test_a_quiet_boot_has_none() -> None:
    assert find_splats("[    0.0] Linux version 6.12\n[    0.1] Command line: nokaslr panic=-1\n") == ()


@given(st.text())
def test_any_text_is_read(log: str) -> None:
    find_splats(log)
