"""The guest's facts become an environment record; what it did not show is null."""

from hypothesis import given
from hypothesis import strategies as st

from cliffwatch_runner.guest.environment import guest_environment, parse_facts

FACTS = """\
==> /proc/version <==
Linux version 6.12.117 (gcc 12.2.0)

==> /proc/cpuinfo <==
processor\t: 0
model name\t: QEMU Virtual CPU
flags\t\t: fpu hypervisor

processor\t: 1

==> /proc/mounts <==
/dev/root / 9p ro,relatime 0 0

==> /proc/stat <==
cpu  100 0 50 900 0 0 0 20 0 0

==> /sys/devices/system/cpu/vulnerabilities/meltdown <==
Mitigation: PTI
"""


def test_facts_become_a_record() -> None:
    record = guest_environment(
        FACTS, "CONFIG_BPF=y\n", "kernel\n", "cpu  200 0 80 1900 0 0 0 45 0 0\n", parts=1
    )

    assert record.kernel == "Linux version 6.12.117 (gcc 12.2.0)"
    assert record.cpu_model == "QEMU Virtual CPU"
    assert record.cpu_flags_hypervisor is True
    assert record.cpus == 2
    assert record.root_file_system == "9p"
    assert record.vulnerabilities == {"meltdown": "Mitigation: PTI"}
    assert record.config_from == "kernel"
    assert record.steal_seconds == 0.25


def test_what_the_guest_did_not_show_is_null() -> None:
    record = guest_environment("", "", "", "", parts=1)

    assert record.kernel is None
    assert record.config_sha256 is None
    assert record.config_from is None
    assert record.steal_seconds is None


@given(st.text(), st.text(), st.text(), st.text())
def test_any_text_is_read(facts: str, config: str, config_from: str, stat: str) -> None:
    parse_facts(facts)
    guest_environment(facts, config, config_from, stat, parts=1)
