"""A small /proc, /sys and /dev of a bench host, for tests that read and tune one."""

from pathlib import Path

ROME = {
    "vendor": "AuthenticAMD",
    "family": 23,
    "model": 49,
    "stepping": 0,
    "name": "AMD EPYC 7502 32-Core Processor",
}
SKYLAKE = {
    "vendor": "GenuineIntel",
    "family": 6,
    "model": 85,
    "stepping": 4,
    "name": "Intel(R) Xeon(R) Gold 6130 CPU",
}

FILES = {
    "sys/devices/system/cpu/online": "0-3\n",
    "sys/devices/system/cpu/isolated": "\n",
    "sys/devices/system/cpu/nohz_full": "(null)\n",
    "sys/devices/system/cpu/smt/control": "on\n",
    "sys/devices/system/cpu/cpufreq/boost": "1\n",
    "sys/devices/system/cpu/cpuidle/current_driver": "acpi_idle\n",
    "sys/devices/system/cpu/cpu0/cpuidle/state0/name": "POLL\n",
    "sys/devices/system/cpu/cpu0/cpuidle/state1/name": "C1\n",
    "sys/devices/system/cpu/cpu0/cpuidle/state2/name": "C2\n",
    "sys/devices/system/cpu/vulnerabilities/meltdown": "Not affected\n",
    "sys/devices/system/cpu/vulnerabilities/spectre_v2": "Mitigation: Retpolines; IBPB: conditional\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/node/node0/cpulist": "0-3\n",
    "sys/devices/virtual/workqueue/cpumask": "f\n",
    "sys/class/dmi/id/bios_version": "2.4.1\n",
    "sys/class/dmi/id/bios_vendor": "American Megatrends Inc.\n",
    "sys/kernel/mm/ksm/run": "0\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "proc/cmdline": "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro mitigations=auto\n",
    "proc/loadavg": "0.08 0.03 0.01 1/300 4242\n",
    "proc/meminfo": (
        "MemTotal:       131072000 kB\nMemAvailable:   125000000 kB\nSwapTotal:             0 kB\n"
    ),
    "proc/irq/default_smp_affinity": "f\n",
    "proc/irq/24/smp_affinity_list": "0-3\n",
    "proc/irq/25/smp_affinity_list": "2\n",
    "proc/sys/kernel/osrelease": "6.12.38-amd64\n",
    "proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC Debian 6.12.38-1\n",
    "proc/sys/kernel/numa_balancing": "1\n",
    "proc/sys/kernel/nmi_watchdog": "1\n",
    "proc/sys/kernel/perf_event_max_sample_rate": "100000\n",
    "proc/sys/kernel/random/boot_id": "5d2b8a0e-1111-4222-8333-444455556666\n",
    "proc/sys/vm/nr_hugepages": "0\n",
    "dev/cpu_dma_latency": "",
}


def fake_host(root: Path, processor: dict[str, object] = ROME, **changes: str) -> Path:
    """Two cores with two threads each: CPUs 0 and 2 are one core, 1 and 3 the other."""
    for path, content in {**FILES, **changes}.items():
        put(root, path, content)
    for cpu in range(4):
        folder = f"sys/devices/system/cpu/cpu{cpu}"
        put(root, f"{folder}/topology/thread_siblings_list", f"{cpu % 2},{cpu % 2 + 2}\n")
        put(root, f"sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_governor", "schedutil\n")
        put(root, f"sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_driver", "acpi-cpufreq\n")
    put(root, "proc/cpuinfo", "\n".join(_cpuinfo(cpu, processor) for cpu in range(4)))
    return root


def put(root: Path, path: str, content: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def _cpuinfo(cpu: int, processor: dict[str, object]) -> str:
    return (
        f"processor\t: {cpu}\nvendor_id\t: {processor['vendor']}\ncpu family\t:"
        f" {processor['family']}\nmodel\t\t: {processor['model']}\nmodel name\t:"
        f" {processor['name']}\nstepping\t: {processor['stepping']}\nmicrocode\t: 0x830107c\nphysical id\t:"
        f" 0\ncore id\t\t: {cpu % 2}\nflags\t\t: fpu vme svm\n"
    )
