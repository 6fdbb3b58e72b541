"""Reads the lines around the results of a Go output: settings, Cliffwatch's comments and failures."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from cliffwatch.parsers.go.failures import GoFailures
from cliffwatch.parsers.go.names import case_of, metric_of
from cliffwatch.parsers.readings import ArmDescription, BootOrigin, Found, Parsed
from cliffwatch.parsers.sample_table import SampleTable
from cliffwatch.samples import MACHINE_KEYS, Sample, Stage

BOOT = re.compile(
    r"# boot (?P<boot>\d{1,6}) of block (?P<block>\d{1,6}), (?P<stage>screen|"
    r"confirm)(?:, layout (?P<layout>\S+))?"
)
VALUE_COMMENT = re.compile(r"#   (?P<unit>\S+) step (?P<step>\S+)(?: readings (?P<readings>.+))?")
_FACT = re.compile(r"# (?P<arm>[\w.+-]+) (?P<key>[a-z][\w.-]*): (?P<value>.+)")
_ARM_COMMIT = "-commit"
_WARNING = "warning"
_NO_NAME = re.compile(r"[^a-z0-9]+")


class GoContext:
    """The context of the results: settings, which apply until they are set again, and comments."""

    def __init__(self) -> None:
        self.config: dict[str, str] = {}
        self._machines: dict[str, list[dict[str, str]]] = {}
        self.origin: BootOrigin | None = None
        self.failures = GoFailures(case_of)
        self._settings: dict[str, dict[str, str]] = {}
        self._facts: dict[str, dict[str, str]] = {}
        self._warnings: dict[str, list[str]] = {}
        self._last = 0

    def of_results(self) -> tuple[str, str]:
        """Returns arm and suite of the results that follow.

        Each machine gets an arm of its own; see `names`.
        """
        named = self.config.get("arm", "")
        machine = {key: self.config[key] for key in MACHINE_KEYS if key in self.config}
        known = self._machines.setdefault(named, [])
        for number, each in enumerate(known):
            if all(each.get(key, text) == text for key, text in machine.items()):
                each.update(machine)
                return _numbered_arm(named, number), self.suite
        known.append(machine)
        return _numbered_arm(named, len(known) - 1), self.suite

    @property
    def suite(self) -> str:
        return self.config.get("suite") or self.config.get("pkg", "")

    def names(self) -> Mapping[str, str]:
        """Maps the arms of `of_results` to display names: the arm's own name, then the machine.

        It contains only the arms that have results of several machines.
        """
        names: dict[str, str] = {}
        for named, machines in self._machines.items():
            if len(machines) < 2:
                continue
            telling = [key for key in MACHINE_KEYS if len({each.get(key) for each in machines}) > 1]
            for number, machine in enumerate(machines):
                words = "-".join(machine[key] for key in telling[:1] if key in machine) or "unknown"
                shown = "-".join(filter(None, (named, _NO_NAME.sub("-", words.lower()).strip("-"))))
                names[_numbered_arm(named, number)] = (
                    f"{shown}-{number + 1}" if shown in names.values() else shown
                )
        return names

    def set(self, key: str, value: str) -> None:
        """Applies a setting. An empty value removes the setting, as the format specifies."""
        if key == "arm":
            self.origin = None
        if value:
            self.config[key] = value
        else:
            self.config.pop(key, None)

    def result(self, found: Sequence[Found], arm: str) -> None:
        """Starts a result of this arm.

        Must be called before the samples of the result are added to `found`.
        """
        self.failures.result()
        if arm not in self._settings:
            self._settings[arm] = dict(self.config)
        self._last = len(found)

    def read(self, comment: str, found: list[Found]) -> None:
        if match := BOOT.fullmatch(comment):
            stage: Stage = "confirm" if match["stage"] == "confirm" else "screen"
            self.origin = BootOrigin(
                int(match["boot"]), int(match["block"]), stage, unquote(match["layout"] or "") or None
            )
        elif match := VALUE_COMMENT.fullmatch(comment):
            for index in range(self._last, len(found)):
                sample, arm, origin, _ = found[index]
                if metric_of(match["unit"]) == (sample.metric, sample.unit):
                    read = _with_readings(sample, match["step"], match["readings"])
                    found[index] = Found(read, arm, origin)
        elif (match := _FACT.fullmatch(comment)) and match["key"] == _WARNING:
            self._warnings.setdefault(match["arm"], []).append(match["value"])
        elif match:
            self._facts.setdefault(match["arm"], {})[match["key"]] = match["value"]

    def arms(self) -> dict[str, ArmDescription]:
        """Describes the arms that have results."""
        descriptions = {}
        for arm, settings in self._settings.items():
            named = settings.get("arm", "")
            commit = settings.get(f"{named}{_ARM_COMMIT}") if named else None
            facts = self._facts.get(named, {}) | ({"commit": commit} if commit else {})
            descriptions[arm] = ArmDescription(
                settings=settings, facts=facts, warnings=tuple(self._warnings.get(named, ()))
            )
        return descriptions


def _numbered_arm(arm: str, machine: int) -> str:
    return f"{arm}\n{machine}" if machine else arm


def rename_arms(parsed: Parsed, names: Mapping[str, str]) -> Parsed:
    """Renames the arms of an output. Names that are not in `names` stay."""
    if not names:
        return parsed
    found = parsed.found
    if isinstance(found, SampleTable):
        found = found.with_arms(names)
    else:
        found = tuple(each._replace(arm=names.get(each.arm, each.arm)) for each in found)
    problems = (
        each
        if each.lost is None
        else replace(each, lost=each.lost._replace(arm=names.get(each.lost.arm, each.lost.arm)))
        for each in parsed.problems
    )
    arms = {names.get(arm, arm): about for arm, about in parsed.arms.items()}
    return replace(parsed, found=found, problems=tuple(problems), arms=arms)


def _with_readings(sample: Sample, step: str, readings: str | None) -> Sample:
    """Adds step and readings from the comment below a sample.

    An invalid comment leaves the sample unchanged.
    """
    try:
        numbers = [float(each) for each in (step, *(readings or "").split())]
    except ValueError:
        return sample
    if numbers[0] < 0 or not all(map(math.isfinite, numbers)):
        return sample
    return sample._replace(resolution=numbers[0], readings=tuple(numbers[1:]))
