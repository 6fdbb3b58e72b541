"""Reads the text around an output: the command line of bench, and the labels that scripts print."""

import re
from typing import NamedTuple

_COMMAND = re.compile(r"(?:^|.*[\s/;&|(\"'])bench(?:\s+(?P<words>[^|;&<>()#\"'`]+))")
_REDIRECTION = re.compile(r"\s\d?>{1,2}\s?\S+")
_BENCHMARK = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_OPTION = re.compile(
    r"(?:--(?P<long>[a-z][\w-]{0,40})(?:=(?P<inline>\S+))?|-(?P<short>[a-zA-Z])(?P<rest>\S*))"
)
_VALUE = re.compile(r"[\w.,:()-]{1,60}")
_WITH_VALUE = {"w": "warmup", "d": "duration", "p": "producers", "c": "consumers"}
_NO_VALUE = frozenset(
    [
        "affinity",
        "quiet",
        "verbose",
        "list",
        "stacktrace",
        "random",
        "preallocated",
        "rb-b2b",
        "rb-use-output",
        "rb-sampled",
        "rb-overwrite",
        "rb-bench-producer",
        "machine-readable",
        "list-scenarios",
        "rx-normal",
        "rx-pass",
        "rx-verdict-egress",
        "rx-verdict-ingress",
        "tx-normal",
        "tx-pass",
        "tx-verdict-ingress",
        "tx-verdict-egress",
    ]
)
_OF_THE_RUN = frozenset(
    [
        "warmup",
        "duration",
        "consumers",
        "affinity",
        "quiet",
        "verbose",
        "list",
        "stacktrace",
        "prod-affinity",
        "cons-affinity",
        "machine-readable",
    ]
)
"""Options that say how long and where to measure, so they do not make another case."""

_LABEL = re.compile(
    r"#?\s{0,4}(?P<name>[A-Za-z][\w ]{0,30}?)\s{0,4}[:=]\s{0,8}(?P<value>\d{1,3}(?:,\d{3})+|"
    r"\d+)(?: ?[A-Za-z%]{1,10})?"
)
_COUNT = re.compile(r"(?P<value>\d{1,3}(?:,\d{3})+|\d+) (?P<name>[a-z]+)\s*-?")
_OF_PARAMETERS = re.compile(
    r"(?:.*[\s_])?(?:entries|entry|threads?|producers?|cpus?|sizes?|keys?|maps?|loops?|len|length|hashes|"
    r"funcs?|batch|cnt|count|procs|"
    r"values?|prefix|prefixlen|depth|elems|elements|sockets?|rate)(?:[\s_].*)?",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r",\s+")
_LONGEST_LABEL = 120


class Command(NamedTuple):
    """A benchmark in a command line, with the options that make it a different case."""

    benchmark: str
    params: tuple[tuple[str, str], ...]


def command_of(text: str) -> Command | None:
    """Finds the command line of bench in a line of a shell log.

    None if there is none, as in prose about bench.
    """
    found = _COMMAND.match(_REDIRECTION.sub("", text))
    if found is None:
        return None
    names: list[str] = []
    params: dict[str, str] = {}
    words = found["words"].split()
    while words:
        option = _OPTION.fullmatch(words[0])
        word = words.pop(0)
        if option is None:
            names.append(word)
            continue
        name, value = _option(option, words)
        if value is not None and name not in _OF_THE_RUN and (name, value) != ("producers", "1"):
            params[name] = value
    if len(names) != 1 or not _BENCHMARK.fullmatch(names[0]):
        return None
    return Command(names[0], tuple(params.items()))


def _option(option: re.Match[str], rest: list[str]) -> tuple[str, str | None]:
    """Returns name and value of an option. The value may be the next word.

    The value is None if it cannot be known, such as `$p`.
    """
    name, value = option["long"], option["inline"]
    if name is None:
        letter = option["short"]
        name = _WITH_VALUE.get(letter, letter)
        if letter not in _WITH_VALUE:
            return "affinity", None
        value = option["rest"] or None
    if name in _NO_VALUE:
        return name, "true"
    if value is None and rest and not rest[0].startswith("-"):
        value = rest.pop(0)
    if value is None:
        return name, "true"
    return name, value if _VALUE.fullmatch(value) else None


def labels_of(text: str) -> dict[str, str]:
    """Parses the parameters that a script prints before an output. Empty if none of them is known to be one.

    Examples: `Entries: 1000`, `# threads: 4, # hashes: 3`, `1,000 entries -`.
    """
    text = text.strip()
    if len(text) > _LONGEST_LABEL:
        return {}
    counted = _COUNT.fullmatch(text)
    if counted is not None and _OF_PARAMETERS.fullmatch(counted["name"]):
        return {counted["name"]: _digits(counted["value"])}
    found = [_LABEL.fullmatch(part.strip()) for part in _SEPARATOR.split(text)]
    labels = [label for label in found if label is not None]
    if len(labels) < len(found) or not any(_OF_PARAMETERS.fullmatch(label["name"]) for label in labels):
        return {}
    return {"_".join(label["name"].lower().split()): _digits(label["value"]) for label in labels}


def _digits(value: str) -> str:
    return value.replace(",", "")
