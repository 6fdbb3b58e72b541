"""Selects the suites that a change concerns, by the source files that suites declare in `touches`."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from cliffwatch.catalogue.suite import Suite

_PATTERN = re.compile(r"(?!/)(?!.*(?:^|/)\.\.?(?:/|$))[A-Za-z0-9_.*?\[\]/+-]{1,200}", re.ASCII)


def is_pattern(text: str) -> bool:
    """True if a text is a path in a kernel tree. `*` matches any text, including slashes."""
    return _PATTERN.fullmatch(text) is not None


def is_touched(suite: Suite, path: str) -> bool:
    """True if the suite declares that its cases execute code of the file."""
    return any(fnmatchcase(path, pattern) for pattern in suite.touches)


def find_touched_suites(suites: Iterable[Suite], paths: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The suites that declare one of the files, in catalogue order, each with these files."""
    paths = tuple(paths)
    found = {suite.name: tuple(path for path in paths if is_touched(suite, path)) for suite in suites}
    return {name: files for name, files in found.items() if files}
