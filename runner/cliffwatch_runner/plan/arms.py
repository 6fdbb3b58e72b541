"""Reads arms from the command line (`v2=HEAD patch=v2.patch boot=mitigations=off`) or from a TOML file."""

import json
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from cliffwatch.failure import Failure, wrong_usage
from cliffwatch.formats.reading import convert_to
from cliffwatch.formats.values import MOST_ARMS, copy_fields
from cliffwatch.parsers.readings import Problem
from cliffwatch.parsers.received.opening import read_limited
from cliffwatch.samples import AUXILIARY_ARMS
from cliffwatch_runner.plan.arm_words.sweep import KEY, expand_sweep
from cliffwatch_runner.source.go_modules import is_module_path

_KEY = re.compile(r"(rev|kernel|patch|series|boot|sysctl|param|config|cc|module|sweep)[=:]")
_MODULE = re.compile(r"([^@=]+)([@=])(.+)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", re.ASCII)
_SYSCTL = re.compile(r"[a-z0-9_]+(?:[./][A-Za-z0-9_-]+)+", re.ASCII)
_PARAMETER = re.compile(r"[A-Za-z0-9_]+\.[A-Za-z0-9_]+", re.ASCII)
_VALUE = re.compile(r"[\x20-\x7e]{1,200}")
_ARGUMENT = re.compile(r"[\x21-\x7e]{1,200}")
_OUR_ARGUMENTS = (
    "init",
    "root",
    "rootflags",
    "rootfstype",
    "console",
    "nokaslr",
    "transparent_hugepage",
    "panic",
)
"""Kernel arguments that Cliffwatch sets itself to start and watch a guest."""

_WORDS = "rev, kernel, patch, series, boot, sysctl, param, config, cc, module or sweep"
_VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]{0,199}", re.ASCII)
_RELATIVE_VERSIONS = ("none", "upgrade", "patch")
"""Go's version words that depend on the version in the suite's go.mod."""

Text = Annotated[str, Meta(min_length=1, max_length=4000)]


class ArmSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of an arm. Sysctls and module parameters are written before the first case."""

    boot: tuple[Text, ...] = ()
    """Arguments for the kernel's command line."""

    sysctl: dict[str, str] = msgspec.field(default_factory=dict)
    param: dict[str, str] = msgspec.field(default_factory=dict)
    """Values by `MODULE.PARAMETER`."""

    config: tuple[Path, ...] = ()
    """Kernel configuration fragments, applied after those of the run."""

    cc: Text | None = None
    """Compiler of this arm; None for the run's."""

    module: dict[str, str] = msgspec.field(default_factory=dict)
    """Go modules for the suites' programs: the version or folder (`is_folder`) by module path."""

    commits: dict[str, str] = msgspec.field(default_factory=dict)
    """Commit of each module folder that was checked out here, by module path. Users cannot set it."""

    def modules(self) -> dict[str, str]:
        """Returns the best identifier of each module: the commit, the version or the folder."""
        return {**self.module, **self.commits}

    def words(self) -> tuple[str, ...]:
        """Returns the settings as readable words, in a fixed order."""
        return (
            *(f"boot {argument}" for argument in self.boot),
            *(f"{name}={value}" for name, value in (*self.sysctl.items(), *self.param.items())),
            *(f"config {path.name}" for path in self.config),
            *((f"cc {self.cc}",) if self.cc is not None else ()),
            *(self._module_word(name, how) for name, how in self.module.items()),
        )

    def _module_word(self, name: str, how: str) -> str:
        if name in self.commits:
            return f"{name}@{self.commits[name][:12]}"
        return f"{name}={how}" if is_folder(how) else f"{name}@{how}"

    def files(self) -> dict[str, str]:
        """Returns the content to write, by file of the guest."""
        names = {f"/proc/sys/{name.replace('.', '/')}": value for name, value in self.sysctl.items()}
        return names | {
            f"/sys/module/{module}/parameters/{parameter}": value
            for name, value in self.param.items()
            for module, _, parameter in (name.partition("."),)
        }


NO_SETTINGS = ArmSettings()


def is_folder(module: str) -> bool:
    """True if a module comes from a folder: as in a replace directive of go.mod, it begins as a path does."""
    return module.startswith((".", "/", "~"))


class ArmRequest(ArmSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A requested arm: a revision of the tree, with patches or a series on it, or a prebuilt kernel."""

    name: Text
    rev: Text | None = None
    kernel: Path | None = None
    patch: tuple[Path, ...] = ()
    series: Path | None = None

    @property
    def settings(self) -> ArmSettings:
        return copy_fields(ArmSettings, self)


class ArmsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of arms, with one `[[arm]]` table per arm."""

    arm: tuple[ArmRequest, ...]


def parse_arms(text: str) -> tuple[ArmRequest, ...] | Failure:
    """Parses `NAME=SUBJECT WORD…` into an arm, or into several if it has a sweep.

    A word without a key is the revision.
    """
    arms = _parse_arms(text)
    return _place(f"--arm {text!r}", arms) if isinstance(arms, Failure) else arms


def _parse_arms(text: str) -> tuple[ArmRequest, ...] | Failure:
    name, separator, rest = text.partition("=")
    try:
        words = shlex.split(rest)
    except ValueError as error:
        return _wrong(f"a quote is not closed ({error})")
    if not separator or not words:
        return _wrong("it must be NAME=SUBJECT, such as v2=HEAD or debian=kernel:linux-image.deb")
    content: dict[str, object] = {"name": name.strip()}
    failure = next(filter(None, (_add_word(content, word) for word in words)), None)
    each_of = failure or expand_sweep(content)
    if isinstance(each_of, Failure):
        return each_of
    arms: list[ArmRequest] = []
    for each in each_of:
        arm = _check_arm(each)
        if isinstance(arm, Failure):
            return arm
        arms.append(arm)
    return tuple(arms)


def _add_word(content: dict[str, object], word: str) -> Failure | None:
    """Adds a word to the content of an arm."""
    match = _KEY.match(word)
    if match is None and "=" in word:
        return _wrong(f"{word!r} is not one of {_WORDS}")
    key, value = (match[1], word[match.end() :]) if match else ("rev", word)
    if key in ("patch", "boot", "config"):
        content[key] = (*_sequence(content.get(key)), value)
    elif key in ("sysctl", "param", KEY):
        name, separator, setting = value.partition("=")
        if not separator:
            return wrong_usage(f"{word!r} sets nothing", f"give {key}=NAME=VALUE")
        content[key] = {**_mapping(content.get(key)), name: setting}
    elif key == "module":
        return _add_module_word(content, word, value)
    elif key in content:
        return _wrong(f"{key} is given twice")
    else:
        content[key] = value
    return None


def _add_module_word(content: dict[str, object], word: str, value: str) -> Failure | None:
    match = _MODULE.fullmatch(value)
    if match is None:
        return wrong_usage(f"{word!r} has no version", "give module=PATH@VERSION, or module=PATH=FOLDER")
    path, how, chosen = match.groups()
    known = _mapping(content.get("module"))
    if path in known:
        return _wrong(f"the module {path} is given twice")
    content["module"] = {**known, path: chosen if how == "@" or is_folder(chosen) else f"./{chosen}"}
    return None


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, tuple) else ()


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def read_arms(path: Path) -> tuple[ArmRequest, ...] | Failure:
    """Reads arms from a TOML file, or JSON of its structure. Paths are relative to the file's folder."""
    try:
        text = read_limited(path).decode()
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        return _wrong(f"--arms: {path} cannot be read: {error}")
    expanded = _expand_sweeps(content)
    if isinstance(expanded, Failure):
        return _place(f"--arms: {path}", expanded)
    read = convert_to(expanded, ArmsFile)
    if isinstance(read, Problem):
        return _wrong(f"--arms: {path}: {read}")
    arms: list[ArmRequest] = []
    for each in read.arm:
        failure = _refuse_arm(each)
        if failure is not None:
            return _place(f"--arms: {path}: {each.name}", failure)
        arms.append(_from_folder(each, path.parent))
    return tuple(arms)


def _expand_sweeps(content: object) -> object | Failure:
    """Expands the sweeps in a file's content.

    Content of another structure is returned unchanged; the type check reports it.
    """
    if not isinstance(content, dict) or not isinstance(content.get("arm"), list):
        return content
    arms: list[object] = []
    for each in content["arm"]:
        of_one = expand_sweep(each) if isinstance(each, dict) else [each]
        if isinstance(of_one, Failure):
            return _place(str(each.get("name")), of_one)
        arms += of_one
    return {**content, "arm": arms}


def _from_folder(arm: ArmRequest, folder: Path) -> ArmRequest:
    return msgspec.structs.replace(
        arm,
        kernel=None if arm.kernel is None else folder / arm.kernel,
        patch=tuple(folder / each for each in arm.patch),
        series=None if arm.series is None else folder / arm.series,
        config=tuple(folder / each for each in arm.config),
        module={
            name: str((folder / how).absolute()) if how.startswith(".") else how
            for name, how in arm.module.items()
        },
    )


def _check_arm(content: Mapping[str, object]) -> ArmRequest | Failure:
    read = convert_to(content, ArmRequest)
    return _wrong(str(read)) if isinstance(read, Problem) else _refuse_arm(read) or read


def _refuse_arm(arm: ArmRequest) -> Failure | None:
    """Returns a failure if one arm contradicts itself."""
    subjects = [name for name in ("rev", "kernel") if getattr(arm, name) is not None]
    if len(subjects) > 1:
        return _wrong("it names two subjects, a revision and a prebuilt kernel")
    if arm.kernel is not None and (arm.patch or arm.series or arm.config or arm.cc):
        return _wrong("a prebuilt kernel takes no patch, series, config or compiler: it is built already")
    if arm.series is not None and arm.patch:
        return wrong_usage("it names a series and a patch", "put the patch into the series")
    if not subjects and arm.series is None:
        return _wrong("it names no subject: a revision, kernel=FILE or series=FILE")
    if not _NAME.fullmatch(arm.name) or arm.name in AUXILIARY_ARMS:
        taken = " or ".join(map(repr, sorted(AUXILIARY_ARMS)))
        return wrong_usage(
            f"{arm.name!r} is not an arm name",
            f"use letters, digits, '.', '_' and '-', but not {taken}",
        )
    return _wrong_setting(arm)


def _wrong_setting(arm: ArmRequest) -> Failure | None:
    if arm.commits:
        return _wrong("'commits' cannot be set")
    for argument in arm.boot:
        if not _ARGUMENT.fullmatch(argument) or '"' in argument or argument == "--":
            return _wrong(f"boot={argument!r} is not a kernel argument")
        if argument.partition("=")[0] in _OUR_ARGUMENTS:
            return wrong_usage(
                f"boot={argument!r}: Cliffwatch sets this argument itself to start guests", "leave it out"
            )
    for name, value in arm.sysctl.items():
        if not _SYSCTL.fullmatch(name) or not _VALUE.fullmatch(value):
            return _wrong(f"sysctl={name}={value} is not a setting such as net.core.bpf_jit_harden=1")
    for name, value in arm.param.items():
        if not _PARAMETER.fullmatch(name) or not _VALUE.fullmatch(value):
            return _wrong(f"param={name}={value} is not a parameter such as workqueue.power_efficient=1")
    return next(filter(None, starmap(_wrong_module, arm.module.items())), None)


def _wrong_module(name: str, how: str) -> Failure | None:
    if not is_module_path(name):
        return _wrong(f"module={name} is not a Go module path such as github.com/cilium/ebpf")
    if not (is_folder(how) or _VERSION.fullmatch(how)) or how in _RELATIVE_VERSIONS:
        return _wrong(f"module={name}@{how} is not a version such as v0.19.0, a branch or a commit")
    return None


def check_arms(arms: Sequence[ArmRequest], *, least: int = 2) -> Failure | None:
    """Returns a failure if the arms cannot form one run."""
    names = [arm.name for arm in arms]
    if len(arms) < least:
        return wrong_usage(
            "a run compares at least two arms, and only one is named", "add another with --arm"
        )
    if len(arms) >= MOST_ARMS:
        return wrong_usage(
            f"{len(arms)} arms are named, and a run takes at most {MOST_ARMS - 1}", "split them into two runs"
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    return wrong_usage(f"two arms are called {twice[0]}", "give each arm its own name") if twice else None


def _wrong(message: str) -> Failure:
    return wrong_usage(message, "see docs/arms.md for what an arm may be")


def _place(where: str, failure: Failure) -> Failure:
    return replace(failure, message=f"{where}: {failure.message}")
