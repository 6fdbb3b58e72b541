"""Texts that make a pattern slow if any can: what it matches, repeated, up to a character that it does not
match.

Made of the pattern's own parse tree: each repeat without a close limit is reached by a text that matches
all before it, and pumped with characters of the pattern, pairs of them, its literal pieces, and what its
groups match.
"""

import re
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

_ALWAYS = ("\n", " ", "0", "a", "A", "-", '"')
_CATEGORIES = {
    sre.CATEGORY_DIGIT: "0",
    sre.CATEGORY_NOT_DIGIT: "a",
    sre.CATEGORY_SPACE: " \n\t",
    sre.CATEGORY_NOT_SPACE: "a",
    sre.CATEGORY_WORD: "a0",
    sre.CATEGORY_NOT_WORD: "- ",
}
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)
_PLACES = {
    sre.SUBPATTERN: 3,
    sre.ASSERT: 1,
    sre.ASSERT_NOT: 1,
    sre.ATOMIC_GROUP: None,
    **dict.fromkeys(_REPEATS, 2),
}
"""Where in a node the pattern lies that is its part."""
_LONG = 256
"""Repeats that end before so many cost a factor and no more."""
_PIECES, _CHARACTERS, _PAIRS, _PREFIXES = 10, 16, 10, 8
ENDS = ("", "\0", "\n\0")


def texts_for(pattern: re.Pattern[Any], size: int) -> Iterator[Any]:
    """Texts of about `size` characters, of the type that the pattern takes."""
    for prefix, pump, end in recipes_for(pattern):
        yield text_of(pattern, prefix, pump, end, size)


def text_of(pattern: re.Pattern[Any], prefix: str, pump: str, end: str, size: int) -> Any:
    text = prefix + pump * (size // len(pump)) + end
    return text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")


def recipes_for(pattern: re.Pattern[Any]) -> Iterator[tuple[str, str, str]]:
    """What a text is made of: its beginning, what is repeated, its end."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    characters = [*dict.fromkeys((*_ALWAYS, *_characters(tree)))][:_CHARACTERS]
    pieces = [each for each in dict.fromkeys((*_pieces(tree), *_bodies(tree))) if len(each) > 1]
    pairs = [a + b for a, b in combinations(dict.fromkeys((*_characters(tree), *_ALWAYS)), 2)]
    pumps = dict.fromkeys(
        (*characters, *pieces[:_PIECES], *pairs[:_PAIRS], *[_shortest(tree)] * bool(_shortest(tree)))
    )
    prefixes = [*dict.fromkeys(("", *_prefixes(tree, "")))][:_PREFIXES]
    yield from product(prefixes, pumps, ENDS)


def _in(items: Any) -> str:
    """Characters of a set, the ends of its ranges among them."""
    if items and items[0][0] is sre.NEGATE:
        return "".join(each for each in (*_ALWAYS, "\t", "!", "x") if each not in _in(items[1:]))
    found = ""
    for kind, value in items:
        if kind is sre.LITERAL:
            found += chr(value)
        elif kind is sre.RANGE:
            found += chr(value[0]) + chr(value[1])
        elif kind is sre.CATEGORY:
            found += _CATEGORIES[value]
    return found


def _children(kind: Any, value: Any) -> list[Any]:
    if kind is sre.BRANCH:
        return list(value[1])
    if kind is sre.GROUPREF_EXISTS:
        return [each for each in value[1:] if each is not None]
    return [value if place is None else value[place] for place in [_PLACES[kind]]] if kind in _PLACES else []


def _characters(tree: Any) -> Iterator[str]:
    for kind, value in tree:
        if kind is sre.LITERAL:
            yield chr(value)
        elif kind is sre.NOT_LITERAL:
            yield from _in([(sre.NEGATE, None), (sre.LITERAL, value)])[:3]
        elif kind is sre.IN:
            yield from _in(value)[:6]
        for child in _children(kind, value):
            yield from _characters(child)


def _pieces(tree: Any) -> Iterator[str]:
    """Runs of letters that stand in the pattern."""
    run = ""
    for kind, value in tree:
        if kind is sre.LITERAL:
            run += chr(value)
            continue
        yield from [run] * bool(run)
        run = ""
        for child in _children(kind, value):
            yield from _pieces(child)
    yield from [run] * bool(run)


def _bodies(tree: Any) -> Iterator[str]:
    """The shortest text of each thing that is repeated."""
    for kind, value in tree:
        for child in _children(kind, value):
            yield from [_shortest(child)] * bool(_shortest(child))
            yield from _bodies(child)


def _shortest(tree: Any) -> str:
    """A short text that the tree matches, look-arounds left aside."""
    text = ""
    for kind, value in tree:
        if kind is sre.LITERAL:
            text += chr(value)
        elif kind is sre.NOT_LITERAL:
            text += _in([(sre.NEGATE, None), (sre.LITERAL, value)])[-1]
        elif kind is sre.ANY:
            text += "a"
        elif kind is sre.IN:
            text += (_in(value) or "a")[-1]
        elif kind in _REPEATS:
            text += _shortest(value[2]) * value[0]
        elif kind is sre.BRANCH:
            text += _shortest(value[1][0])
        elif kind in (sre.SUBPATTERN, sre.ATOMIC_GROUP):
            text += _shortest(_children(kind, value)[0])
    return text


def _prefixes(tree: Any, before: str) -> Iterator[str]:
    """Texts after which a repeat begins that has no close end."""
    for kind, value in tree:
        repeat = kind in _REPEATS
        if repeat and value[1] >= _LONG:
            yield before
        for child in _children(kind, value):
            yield from _prefixes(child, before)
        before += _shortest([(kind, value)])
