"""Which suites a change concerns, by the source files that suites declare in `touches`."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from cliffwatch.catalogue.suite import Suite

_PATTERN = re.compile(r"(?!/)(?!.*(?:^|/)\.\.?(?:/|$))[A-Za-z0-9_.*?\[\]/+-]{1,200}", re.ASCII)


def is_pattern(text: str) -> bool:
    """Whether a text is a path in a kernel tree, in which `*` stands for any part, slashes too."""
    return _PATTERN.fullmatch(text) is not None


def touches(suite: Suite, path: str) -> bool:
    """Whether a suite declares that its cases execute what a file holds."""
    return any(fnmatchcase(path, pattern) for pattern in suite.touches)


def suites_touched(suites: Iterable[Suite], paths: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """The suites that declare one of the files, in the order of the catalogue, each with these files."""
    paths = tuple(paths)
    found = {suite.name: tuple(path for path in paths if touches(suite, path)) for suite in suites}
    return {name: files for name, files in found.items() if files}
