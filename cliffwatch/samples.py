"""Samples of boots, the input of every comparison, wherever they come from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

Mode = Literal["icount", "walltime"]
MODES: tuple[Mode, ...] = get_args(Mode)
"""In the order in which a question is asked in both: the cheaper one first."""

Profile = Literal["smoke", "standard", "full"]
"""How many cases of a suite are measured, and for how long."""

PROFILES: tuple[Profile, ...] = get_args(Profile)

DEFAULT_PROFILE: Profile = "smoke"
"""Where somebody waits for the answer: `cliffwatch run`, and pull requests."""

SERVICE_PROFILE: Profile = "standard"
"""Where hosts work for a service: requests, and followed branches."""

DEFAULT_MODE: Mode = "icount"
"""Measured where nobody names a mode, on every machine: docs/decisions/0025-icount-is-the-default.md says
why.
"""

Accel = Literal["kvm", "tcg"]
"""What runs the guests of walltime: the processor itself (KVM), or QEMU's emulator (TCG), which makes the run
a rehearsal.
"""

ACCELS: tuple[Accel, ...] = get_args(Accel)
DEFAULT_ACCEL: Accel = "kvm"

REHEARSAL_PREFIX = "rehearsal-"
"""How the platform of every rehearsal begins, and of nothing else."""

REHEARSAL_PLATFORM = f"{REHEARSAL_PREFIX}x86-64"


def is_rehearsal(platform: str | None) -> bool:
    """True if guests of this platform are emulated in real time, so that their time is not hardware's."""
    return platform is not None and platform.startswith(REHEARSAL_PREFIX)


def accel_of(platform: str) -> Accel:
    """What runs the guests of a job on this platform."""
    return "tcg" if is_rehearsal(platform) else DEFAULT_ACCEL


BootsWord = Literal["auto", "staged", "careful"]
"""How many boots each arm gets, if nobody gives a number."""

BOOTS_WORDS: tuple[BootsWord, ...] = get_args(BootsWord)
DEFAULT_BOOTS: BootsWord = "auto"

MOST_ASKED_BOOTS = 999
"""The most boots per arm that a request may ask for."""

BOOTS_PATTERN = rf"(?:{'|'.join(BOOTS_WORDS)}|[1-9][0-9]{{0,2}})"
BOOTS_CHOICES = f"{', '.join(BOOTS_WORDS)} or a number from 1 to {MOST_ASKED_BOOTS}"


def find_mode(name: object) -> Mode | None:
    """The mode of this name; None if there is none."""
    return next((mode for mode in MODES if mode == name), None)


def parse_target(text: str) -> tuple[str, Mode] | None:
    """Platform and mode of `PLATFORM:MODE`, or of `PLATFORM` in the default mode; None if it is neither."""
    platform, _, name = text.partition(":")
    mode = find_mode(name) if ":" in text else DEFAULT_MODE
    return None if not platform or mode is None else (platform, mode)


Better = Literal["higher", "lower"]
Assume = Literal["nothing", "exact"]
Stage = Literal["screen", "confirm"]
Observed = Literal["boot", "layout"]
"""What a compared value is of: a boot, or a layout, whose boots it averages."""

CaseStatus = Literal[
    "ok", "failed", "refused", "panic", "timeout", "unsupported", "not-run", "unchanged-build"
]


MACHINE_KEYS = (
    *("cpu", "goos", "goarch", "goamd64", "goarm", "goarm64", "go386", "gomaxprocs", "go", "toolchain"),
    *("host", "hostname", "machine", "os", "cpus", "cores", "memory", "processor", "microcode"),
    *("bios", "host-kernel"),
)
"""What outputs of any program say of the machine and of what built them, by the names that they use."""

ENVIRONMENT_KEYS = ("config", "compiler", "bench", "guest", *MACHINE_KEYS)
"""What of an environment must be equal on both sides for a difference to be the kernel's."""


CONTROL = "control"
"""The arm that boots base under a second name, so that base against control shows what no change looks like.
"""


MATCHED = "matched"
"""The arm that boots head with its unchanged functions where base has them, to tell whether a change is only
placement.
"""


AUXILIARY_ARMS = frozenset({CONTROL, MATCHED})
"""Arms that explain a comparison and are not compared themselves."""


ANCHOR = "anchor"
"""The arm of one revision that is measured beside base and head in run after run, so that a host's drift
shows in it alone.
"""


GUEST_CPUS = "guest-cpus"
"""The parameter of a case that asks its guest for a number of CPUs."""


HOST_FAULTS = "host-faults"
"""The setting of a file that has the faults of an arm's host."""


LAYOUTS, CAUTION = "layouts", "caution"
"""Settings of exported files: the layouts of each kernel, and what one layout leaves open."""


LUCK = "a change of a few per cent may come from where the linker put code, and not from what the code does"
"""How a note on a kernel or a program in one layout ends."""


def format_faults(faults: Iterable[str]) -> str:
    """The faults of a host as the text of that setting."""
    return "; ".join(dict.fromkeys(faults))


def parse_faults(settings: Mapping[str, str]) -> tuple[str, ...]:
    """What the setting says; nothing where there is none."""
    return tuple(fault for fault in settings.get(HOST_FAULTS, "").split("; ") if fault)


def cautions_in(notes: Iterable[str]) -> tuple[str, ...]:
    """Returns those notes of a run that are about one layout."""
    return tuple(note for note in notes if note.endswith(LUCK))


def parse_cautions(settings: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the caution of a file's settings; nothing without one."""
    return tuple(filter(None, [settings.get(CAUTION)]))


REFUSED_BY_VERIFIER = "the verifier refuses it"
"""Why a program was not taken, where no more is known than that."""


PROGRAM_PARAM = "program"
"""The last parameter of what is measured of each BPF program of an object: a plan has the object alone, whose
programs are known once it is opened.
"""


RESULT = "result"
"""Unit of what a benchmark computes, such as the value that a program returns.

Sides whose results differ did different work, and are not compared.
"""


class CaseKey(NamedTuple):
    """A benchmark with its parameters, in the order in which they are given to it."""

    suite: str
    benchmark: str
    params: tuple[tuple[str, str], ...] = ()

    @property
    def planned(self) -> "CaseKey":
        """The case of the plan that this belongs to: of an object's program the object, else itself."""
        whole = self.params[:-1] if self.params and self.params[-1][0] == PROGRAM_PARAM else self.params
        return self if whole is self.params else CaseKey(self.suite, self.benchmark, whole)

    def __str__(self) -> str:
        return "/".join([self.benchmark, *(f"{name}={value}" for name, value in self.params)])


class Sample(NamedTuple):
    """The value of one metric of one case in one boot."""

    case: CaseKey
    metric: str
    unit: str
    value: float
    """In `unit`."""
    readings: tuple[float, ...] = ()
    """Within-boot values it was made from, without warm-up, oldest first; empty if unknown."""
    resolution: float = 0.0
    """Smallest step of the printed digits, in `unit`: two outputs closer than this may be equal. 0 if
    unknown.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOutcome:
    """How one case of one boot ended.

    `status`: ok; failed (ran and gave nothing that can be believed), refused (the kernel does not take the
    BPF program), panic (the kernel died in it), timeout, unsupported (the tree is older than the
    benchmark, or a suite's program says that it cannot be measured there), not-run, unchanged-build
    (nothing that the case executes differs between the arms of its run, so that it was not measured).
    `reason` is for the developer; empty when ok.
    """

    case: CaseKey
    status: CaseStatus
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """One start of a guest: its samples, and how each case ended."""

    index: int
    """Counts from 1 within the run."""
    block: int
    samples: tuple[Sample, ...]
    outcomes: tuple[CaseOutcome, ...] = ()
    stage: Stage = "screen"
    """Boots of `confirm` measure only what the screen left open."""
    layout: str | None = None
    """Placement of the kernel's code, if boots of one kernel have several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTraits:
    """What a comparison must know of a metric.

    `assume` is "exact" where equal kernels give equal values up to `repeatability` (a fraction: the
    largest relative difference seen between boots of one kernel), else "nothing". `primary` metrics decide
    the verdict of their case; the others are derived from them or explain them. `better` is None where
    nobody said which way is better: a change is then reported and not judged. `empty_loop` names the
    benchmark whose case with the same parameters runs the loop alone; empty where none does.
    """

    better: Better | None
    assume: Assume
    repeatability: float = 0.0
    primary: bool = True
    empty_loop: str = ""


class Assumed(NamedTuple):
    """What a file itself says of one of its metrics; None is what it does not say."""

    better: Better | None
    assume: Assume | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One side of a comparison. `label` is what people read (revision and subject, or a file name).

    `failure` says why the side could not be measured at all, such as a kernel that does not build; None if
    it could. `environment` is what must be equal on both sides for a difference to be the kernel's:
    config, compiler, bench, guest, processor, microcode, BIOS, kernel of the host. Empty where it is not
    known; `meant` names what of it was meant to be this arm's own. `assumed` is what an imported file says
    of metrics, by metric and unit; `declared` what suites of the user's own say of theirs, by suite,
    benchmark and metric.
    `unchanged` are the cases that its run did not measure, since nothing that they execute differs between
    its arms. `host_faults` keep its host from being a bench host: the doctor's checks of walltime that
    failed; empty where nobody looked. `cautions` say what of it was measured in one layout only.
    """

    name: str
    label: str
    mode: Mode | None
    platform: str | None
    boots: Sequence[Boot]
    facts: Mapping[str, str] = field(default_factory=dict)
    failure: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    meant: frozenset[str] = frozenset()
    assumed: Mapping[tuple[str, str], Assumed] = field(default_factory=dict)
    declared: Mapping[tuple[str, str, str], MetricTraits] = field(default_factory=dict)
    unchanged: tuple[CaseOutcome, ...] = ()
    host_faults: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()
    lost: Mapping[tuple[CaseKey, str], tuple[str, ...]] = field(default_factory=dict)
    """By case and metric: why values that a file should have are not there, one reason a value."""
    recorded: Mapping[str, str] = field(default_factory=dict)
    """All else that is known of how it was measured, by dotted names: it decides only where somebody says
    what may differ.
    """
    warnings: tuple[str, ...] = ()
    """Sentences without which nothing of this side should be read."""

    @property
    def told(self) -> tuple[str, ...]:
        """The warnings, and what is lost in sentences: for formats that have no place for it."""
        lost = (
            f"{case} {metric}: {reason}"
            for (case, metric), why in self.lost.items()
            for reason in dict.fromkeys(why)
        )
        return (*self.warnings, *lost)

    @property
    def guest_cpus(self) -> int:
        """CPUs of the guests, 1 where it is not known."""
        try:
            return max(1, int(json.loads(self.environment["guest"])["cpus"]))
        except (KeyError, TypeError, ValueError, RecursionError):
            return 1


def select_compared_arms(names: Iterable[str]) -> list[str]:
    """The arms of a run that reports compare, in their order: all but the auxiliary ones and, beside base and
    head alone, the anchor.
    """
    named = [name for name in names if name not in AUXILIARY_ARMS]
    return [name for name in named if name != ANCHOR] if set(named) == {"base", "head", ANCHOR} else named
