"""Arms for tests, made from plain numbers."""

from collections.abc import Mapping, Sequence

from cliffwatch.samples import Arm, Boot, CaseKey, CaseOutcome, MetricTraits, Mode, Sample


def arm(
    name: str,
    measured: Mapping[CaseKey, Sequence[float]],
    *,
    mode: Mode = "icount",
    outcomes: Sequence[CaseOutcome] = (),
    failure: str | None = None,
    resolution: float = 0.0,
    metric: str = "latency",
    unit: str = "ns/op",
) -> Arm:
    """An arm whose n-th boot has the n-th value of each case."""
    count = max((len(values) for values in measured.values()), default=0)
    boots = []
    for index in range(count):
        samples = tuple(
            Sample(case=case, metric=metric, unit=unit, value=values[index], resolution=resolution)
            for case, values in measured.items()
            if index < len(values)
        )
        boots.append(Boot(index=index + 1, block=index, samples=samples, outcomes=tuple(outcomes)))
    if not boots and outcomes:
        boots.append(Boot(index=1, block=0, samples=(), outcomes=tuple(outcomes)))
    platform = "emulated-x86-64" if mode == "icount" else "amd-rome"
    label = f"{name}0123456 (bpf: Some {name})"
    return Arm(name=name, label=label, mode=mode, platform=platform, boots=tuple(boots), failure=failure)


def exact(*_: object) -> MetricTraits:
    return MetricTraits(better="lower", assume="exact", repeatability=0.0001)


def noisy(*_: object) -> MetricTraits:
    return MetricTraits(better="lower", assume="nothing")


SEQ_GET = CaseKey("local-storage", "local-storage-cache-seq-get", (("nr_maps", "16"),))
INT_GET = CaseKey("local-storage", "local-storage-cache-int-get", (("nr_maps", "16"),))
CONTROL = CaseKey("local-storage", "local-storage-cache-hashmap-control", (("hashmap_nr_keys_used", "10"),))
