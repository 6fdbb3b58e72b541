"""Links a built kernel so that its unchanged functions lie where another kernel's image has them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cliffwatch.failure import Failure, kernel_failed
from cliffwatch_runner.build.layouts.matching import (
    Addresses,
    Function,
    Match,
    Place,
    count_matches,
    matching_padding,
    parse_places,
    unchanged_functions,
)
from cliffwatch_runner.build.layouts.padding import PAGE, pad_object
from cliffwatch_runner.build.layouts.relink import (
    OBJECTS,
    RELINK,
    Relink,
    Store,
    give,
    layout_entry,
    read_addresses,
)
from cliffwatch_runner.build.outputs import MIB, unfit_output
from cliffwatch_runner.sandbox.untrusted_files import UnfitFile

MATCH_RECIPE = "1"
"""Increase it when a change here changes the images."""

LEAST_SHARE = 0.99
"""Share of the unchanged functions that must have base's addresses, modulo a page."""

_PASSES = 2
_FUNCTIONS, _FUNCTIONS_BYTES = "layouts/functions", 32 * MIB
_MOST_PLACES = 20_000
"""The tree decides how many there are, and each is padding on the host's disk."""


@dataclass(frozen=True, slots=True)
class Matched:
    """The images of base whose functions' addresses head is to have."""

    base: Path
    """Cache entry of base's kernel as it was built."""
    seeds: tuple[int, ...]
    """Of base's images."""

    def image(self, seed: int) -> Path:
        """Returns the cache entry of base's image."""
        return layout_entry(self.base, str(seed))

    def entry(self, head: Path, seed: int) -> Path:
        """Returns the cache entry of head's image, where `head` is that of its kernel as it was built."""
        return layout_entry(head, f"{seed} matched {MATCH_RECIPE} {self.base.name}")


def relink_matched(head: Relink, matched: Matched, store: Store) -> Failure | None:
    """Links head for each image of base, and has each result stored.

    Returns why it cannot be linked so. Raises Stopped.
    """
    places = _places(head)
    if isinstance(places, Failure):
        return places
    built = read_addresses(head.entry)
    link = _MatchedLink(head, places, built, unchanged_functions(read_addresses(matched.base), built))
    for number, seed in enumerate(matched.seeds, start=1):
        head.worktree.settings.report_progress(None, f"matched layout {number} of {len(matched.seeds)}")
        failure = link.match(read_addresses(matched.image(seed))) or store(seed)
        if failure is not None:
            return failure
    return None


def _places(head: Relink) -> Mapping[Place, Sequence[Function]] | Failure:
    worktree = head.worktree
    listing = ["sh", str(worktree.given(RELINK)), "functions", str(worktree.build)]
    failure = worktree.make(listing, head.log)
    if failure is not None:
        return failure
    listed = worktree.output.read(_FUNCTIONS, limit=_FUNCTIONS_BYTES)
    if isinstance(listed, UnfitFile):
        return unfit_output(listed)
    places = parse_places(listed.decode(errors="replace"))
    if len(places) > _MOST_PLACES:
        return kernel_failed(f"its code is in more than {_MOST_PLACES:,} sections", "leave --matched out")
    return places


def too_few_match(match: Match) -> Failure:
    """Says that too few functions match. Rounds down: 98.96 % is not the 99 % that it misses."""
    share = math.floor(1000 * match.share) / 1000
    return kernel_failed(
        f"only {share:.1%} of its {match.of:,} unchanged functions have base's addresses modulo"
        f" {PAGE} (at least {LEAST_SHARE:.0%} must)",
        "leave --matched out",
    )


@dataclass(frozen=True, slots=True)
class _MatchedLink:
    """The links of head. `built` is where its functions lie without padding."""

    head: Relink
    places: Mapping[Place, Sequence[Function]]
    built: Addresses
    unchanged: frozenset[Function]

    def match(self, target: Addresses) -> Failure | None:
        """Links head with the target's addresses; again if padding moved what it should not.

        One per cent of the functions may be the hottest, so a share that suffices does not end it.
        """
        image, padding = self.built, self._padding(self.built, target, {})
        for _ in range(_PASSES):
            failure = self.head.link(self._padded(padding))
            if failure is not None:
                return failure
            image = self.head.addresses()
            before, padding = padding, self._padding(image, target, padding)
            if padding == before:
                break
        match = count_matches(self.unchanged, image, target)
        if match.share >= LEAST_SHARE:
            return None
        return too_few_match(match)

    def _padding(
        self, image: Addresses, target: Addresses, before: Mapping[Place, int]
    ) -> Mapping[Place, int]:
        return matching_padding(self.places, self.unchanged, image, target, before)

    def _padded(self, padding: Mapping[Place, int]) -> Iterator[str]:
        """Yields the objects with an object of padding before each that has to move."""
        sections: dict[str, dict[str, int]] = {}
        for (member, section), size in padding.items():
            sections.setdefault(f"{OBJECTS}{member}", {})[section] = size
        worktree = self.head.worktree
        for number, path in enumerate(self.head.objects):
            if path in sections:
                name = f"match-{number}.o"
                give(worktree, name, pad_object(sections[path], alignment=1))
                yield str(worktree.given(name))
            yield path
