"""Digests of a kernel's functions, and which of them differ between two kernels."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from cliffwatch_runner.build.cache.entries import locked, new_entry
from cliffwatch_runner.build.code.image import read_image
from cliffwatch_runner.build.code.listing import Listing
from cliffwatch_runner.build.code.symbols import Names, read_names

_RECIPE = "1"
"""Raised when the same function could get another digest."""

_SYSTEM_MAP, _IMAGE = "System.map", "bzImage"
_LARGEST_MAP_BYTES = 128 << 20
_DIGESTS = "digests.json"

Digests = Mapping[str, str]
"""By the name of a function; those of one name have `@` and their ordinal, but for the first."""


def function_digests(kernel: Path, cache: Path, should_stop: Callable[[], bool] = lambda: False) -> Digests | str:
    """Digests of all functions of the kernel in a folder of the cache, from the cache or made now in some seconds; a sentence where there
    are none. Raises Stopped, OSError where the cache cannot be written.
    """
    folder = cache / "code" / f"{kernel.name}-{_RECIPE}"
    known = _read(folder)
    if known is not None:
        return known
    with locked(cache / "locks" / f"code-{folder.name}", waiting=lambda: None, should_stop=should_stop):
        known = _read(folder)
        if known is not None:
            return known
        made = _made(kernel)
        if not isinstance(made, str):
            with new_entry(folder) as entry:
                (entry / _DIGESTS).write_text(json.dumps(made))
        return made


def listing_of(kernel: Path) -> tuple[Listing, Names] | str:
    """The listing of the kernel in a folder, and its names."""
    try:
        with (kernel / _SYSTEM_MAP).open("rb") as file:
            names = read_names(file.read(_LARGEST_MAP_BYTES))
    except OSError:
        return "it came without a System.map, which says where its functions lie"
    image = read_image(kernel / _IMAGE)
    return image if isinstance(image, str) else (Listing(image, names), names)


def _made(kernel: Path) -> dict[str, str] | str:
    read = listing_of(kernel)
    if isinstance(read, str):
        return read
    listing, names = read
    return {name: listing.digest(start, end) for name, start, end in names.functions()}


def _read(folder: Path) -> Digests | None:
    with suppress(OSError, ValueError):
        content = json.loads((folder / _DIGESTS).read_text())
        return content if isinstance(content, dict) else None
    return None


def differing(base: Digests, head: Digests) -> frozenset[str]:
    """Names of functions that are not the same in both, or that only one has."""
    return frozenset(name for name in base.keys() | head.keys() if base.get(name) != head.get(name))
