"""A document that people write says all of its faults at once, and exactly where it has any."""

import copy
from typing import Annotated, Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cliffwatch.catalogue.faults import collect_faults
from cliffwatch.catalogue.suite_file import SuiteFile
from cliffwatch.formats.reading import convert_to
from cliffwatch.parsers.readings import Problem

NOT_ASKED = Problem(reason="refused for another reason")

SUITE: dict[str, Any] = {
    "title": "A suite",
    "about": "For a test.",
    "config": ["CONFIG_IPV6=y"],
    "profiles": {name: {"warmup": 1, "duration": 2} for name in ("smoke", "standard", "full")},
    "metrics": {"hits": {"unit": "M ops/s", "better": "higher"}},
    "benchmark": [
        {
            "name": "lookup",
            "kind": "hits",
            "about": "Looks up",
            "since": "5.16",
            "until": "7.0",
            "deadline": 30,
            "args": ["-c", 1],
            "icount": {"assume": "exact", "repeatability": 0.001},
            "sweep": [{"params": {"entries": [1, 2], "fast": True}, "profiles": ["smoke"], "min_cpus": 2}],
        }
    ],
}

values = st.recursive(
    st.one_of(
        st.integers(-2, 2),
        st.booleans(),
        st.floats(),
        st.dates(),
        st.sampled_from(["", "6.12", "smoke", "exact"]),
    ),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["unit", "name", "other"]), inner)
    ),
    max_leaves=4,
)


def places(content: object) -> list[tuple[Any, Any]]:
    """Every table or list within a document with a key or a position in it."""
    inner = (
        content.items()
        if isinstance(content, dict)
        else enumerate(content)
        if isinstance(content, list)
        else ()
    )
    return [each for key, value in inner for each in ((content, key), *places(value))]


@given(st.data())
def test_a_document_has_faults_exactly_where_its_type_refuses_it(data: st.DataObject) -> None:
    content = copy.deepcopy(SUITE)
    for _ in range(data.draw(st.integers(0, 3))):
        table, key = data.draw(st.sampled_from(places(content)))
        if data.draw(st.booleans()):
            table[key] = data.draw(values)
        else:
            del table[key]
            if isinstance(table, dict) and data.draw(st.booleans()):
                table["unheard-of"] = 1
    read = convert_to(content, SuiteFile)

    document, faults = collect_faults(content, SuiteFile, NOT_ASKED)

    if isinstance(read, Problem):
        assert Problem(reason=str(NOT_ASKED)) not in faults
    else:
        assert faults == (Problem(reason=str(NOT_ASKED)),)
        assert repr(document) == repr(read)  # not a number is not itself
    assert isinstance(document, SuiteFile)


class Short(msgspec.Struct):
    """Bounded in a way that has no words of its own."""

    words: Annotated[list[str], msgspec.Meta(max_length=1)] = []
    sizes: list[Annotated[int, msgspec.Meta(le=4)]] = []


def test_a_fault_that_has_no_words_of_its_own_is_said_in_those_of_the_reader() -> None:
    content = {"words": ["a", "b"], "sizes": [1, 5]}
    read = convert_to(content, Short)
    assert isinstance(read, Problem)

    document, faults = collect_faults(content, Short, read)

    assert faults == (
        Problem(member="words", reason="'words': Expected array of length <= 1"),
        Problem(member="sizes.1", reason="'sizes': Expected int <= 4"),
    )
    assert document == Short(sizes=[1, 0])
