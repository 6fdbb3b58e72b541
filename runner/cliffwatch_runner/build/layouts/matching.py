"""Padding that puts one kernel's functions where another kernel has them, modulo a page.

Only between objects can code be moved, so the functions behind a change in the same object stay moved.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cliffwatch_runner.build.layouts.padding import PAGE

Function = tuple[str, int]
"""Name of a function, and its number among those of the same name, by address."""
Addresses = Mapping[Function, int]
"""From a System.map, in order of address."""
Place = tuple[str, str]
"""An object of vmlinux.a, and a section of its code."""

_CODE = ("t", "T")
"""Classes of symbols in code, as nm names them. Weak ones are left out, for another may replace them."""
_OWN_OUTPUT = (".init.text", ".exit.text")
"""Sections that are linked apart from the others, so that padding before these does not move them."""
_FIRST = ".head.text"
"""The section with which the kernel begins; nothing may come before it."""


def parse_addresses(system_map: str) -> Addresses:
    """Returns the addresses of the functions in a System.map."""
    addresses: dict[Function, int] = {}
    seen: Counter[str] = Counter()
    for address, name in sorted(_text_symbols(system_map)):
        addresses[name, seen[name]] = address
        seen[name] += 1
    return addresses


def _text_symbols(system_map: str) -> Iterator[tuple[int, str]]:
    for line in system_map.splitlines():
        words = line.split(" ")
        if len(words) == 3 and words[1] in _CODE:
            try:
                yield int(words[0], 16), words[2]
            except ValueError:
                continue


def unchanged_functions(base: Addresses, head: Addresses) -> frozenset[Function]:
    """Returns the functions of the same size in both kernels as they were built.

    The size is the distance to the next function. Of a name, both must have equally many.
    """
    of_base, of_head = (Counter(name for name, _ in addresses) for addresses in (base, head))
    sizes_of_base, sizes_of_head = _sizes(base), _sizes(head)
    return frozenset(
        function
        for function, size in sizes_of_base.items()
        if sizes_of_head.get(function) == size and of_base[function[0]] == of_head[function[0]]
    )


def _sizes(addresses: Addresses) -> Mapping[Function, int]:
    """Returns the distance of each function to the next address that another function has."""
    sizes: dict[Function, int] = {}
    following = last = 0
    for function, address in reversed(list(addresses.items())):
        if address != last:
            following, last = last, address
        sizes[function] = following - address
    return sizes


@dataclass(frozen=True, slots=True)
class Match:
    """How many of the unchanged functions have the same address in two images, modulo a page."""

    equal: int
    of: int

    @property
    def share(self) -> float:
        return self.equal / self.of if self.of else 0.0


def count_matches(functions: Iterable[Function], image: Addresses, target: Addresses) -> Match:
    """Counts the functions that have the same address in both images, modulo a page."""
    both = [(image[each], target[each]) for each in functions if each in image and each in target]
    return Match(sum((mine - theirs) % PAGE == 0 for mine, theirs in both), len(both))


def parse_places(listed: str) -> Mapping[Place, Sequence[Function]]:
    """Returns the functions of each place from `nm -A -n -f sysv`, for names that occur in only one section.

    Lines that do not describe a function are left out.
    """
    places: dict[Place, list[Function]] = defaultdict(list)
    sections: dict[str, set[str]] = defaultdict(set)
    seen: Counter[str] = Counter()
    for line in listed.splitlines():
        fields = [field.strip() for field in line.split("|")]
        path, separator, name = fields[0].rpartition(":")
        if len(fields) == 7 and separator and fields[2] in _CODE:
            section = fields[6]
            places[path, section].append((name, seen[name]))
            sections[name].add(section)
            seen[name] += 1
    return {
        place: kept
        for place, functions in places.items()
        if (kept := [each for each in functions if len(sections[each[0]]) == 1])
    }


def matching_padding(
    places: Mapping[Place, Iterable[Function]],
    functions: frozenset[Function],
    image: Addresses,
    target: Addresses,
    before: Mapping[Place, int],
) -> Mapping[Place, int]:
    """Returns the bytes of padding before each place, with which its functions get the target's addresses.

    `image` was linked with the padding `before`, which is returned if every place is where it should be. Most
    of a place's functions decide how far it has to move. A section that begins a page is aligned to one
    (`.entry.text` to 2 MiB): padding before such a section does not move it.
    """
    moves: dict[Place, int] = {}
    starts: dict[Place, int] = {}
    for place, own in places.items():
        shared = [each for each in own if each in functions and each in image and each in target]
        if shared and place[1] != _FIRST:
            away = Counter((target[each] - image[each]) % PAGE for each in shared)
            moves[place] = away.most_common(1)[0][0]
            starts[place] = min(image[each] for each in shared)
    padding: dict[Place, int] = {}
    moved, section = 0, ""
    for place in sorted(moves, key=starts.__getitem__):
        if place[1] != section and (place[1] in _OWN_OUTPUT or starts[place] % PAGE == 0):
            moved = 0
        section = place[1]
        padding[place] = (before.get(place, 0) + moves[place] - moved) % PAGE
        moved = moves[place]
    return {place: size for place, size in padding.items() if size}
