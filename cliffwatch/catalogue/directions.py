"""Which way a unit is better, by its name. A unit that is neither a rate, a time nor a cost has no direction.

The Go benchmark format knows ns/op, MB/s, B/op and allocs/op (golang.org/x/perf/benchfmt, GetBetter). People
also report units such as `requests/sec`, `p99-ns`, `insn-per-cycle`.
"""

import re
from functools import lru_cache

from cliffwatch.samples import Better

_PER = re.compile(r"/|(?<![a-z])per(?![a-z])")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORDS = re.compile(r"[a-zµμ]+|%")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_TIMES = _set(
    "ps ns us µs μs ms s sec secs second seconds nsec nsecs usec usecs msec msecs nanosecond nanoseconds"
    " microsecond microseconds millisecond milliseconds minute minutes hour hours"
)
_PER_TIMES = _TIMES | _set("min h day")
_RATES = _set("hz khz mhz ghz bps kbps mbps gbps pps kpps mpps iops qps rps tps fps flops mflops gflops")
_SPEEDS = _set("throughput bandwidth speed ipc")
_UNWANTED = _set(
    "miss misses error errors fault faults drop drops dropped lost loss losses fail fails failed failure"
    " failures retry retries retransmits timeouts stall stalls stalled collisions overruns conflicts aborts"
    " mispredicts mispredictions rejected switches migrations interrupts irqs wakeups"
)
_INSTRUCTIONS = _set("insn insns instr instrs instruction instructions")
_CYCLES = _set("cycle cycles clock clocks")
_ENERGY = _set("j joule joules w watt watts")
_WORK = _INSTRUCTIONS | _CYCLES | _ENERGY | _set("branches accesses alloc allocs allocations syscalls")
_MEMORY = _set("b kb mb gb tb kib mib gib tib byte bytes kbytes mbytes gbytes kilobytes megabytes gigabytes")
_COSTS = (
    _set("latency latencies delay duration time runtime overhead cost memory rss heap footprint size")
    | _TIMES
    | _UNWANTED
    | _WORK
    | _MEMORY
)
_SHARES = _set("% rate ratio percent share")
_WANTED = _set("hit hits success")


@lru_cache(maxsize=4096)
def better_of(metric: str, unit: str) -> Better | None:
    """The better direction by the unit, or else by the metric's name; None if neither has one."""
    by_unit = _better(unit)
    if by_unit == "higher" and _words(metric) & _UNWANTED:
        return None
    return by_unit or (_better(metric) if metric != unit else None)


@lru_cache(maxsize=4096)
def is_timed(unit: str) -> bool:
    """True if a unit is a time or a rate. A host that becomes slower changes these, but no counts."""
    parts = [_words(part) for part in _PER.split(_CAMEL.sub(" ", unit).lower())]
    return bool(parts[0] & (_TIMES | _RATES | _SPEEDS)) or any(part & _PER_TIMES for part in parts[1:])


def _better(name: str) -> Better | None:
    """The better direction by name: higher for rates of wanted events, lower for costs.

    None for rates of unwanted events, which also rise with the work done.
    """
    counted, *per = (_words(part) for part in _PER.split(_CAMEL.sub(" ", name).lower()))
    if counted & _RATES or any(part & _PER_TIMES for part in per):
        return None if counted & (_UNWANTED | _ENERGY) else "higher"
    if counted & _SPEEDS or (counted & _INSTRUCTIONS and any(part & _CYCLES for part in per)):
        return "higher"
    if counted & _SHARES and not counted & _TIMES:
        return "lower" if counted & _UNWANTED else "higher" if counted & _WANTED else None
    return "lower" if counted & _COSTS else None


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORDS.findall(text.lower()))
