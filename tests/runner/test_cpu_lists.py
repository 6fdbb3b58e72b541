"""CPU sets survive the kernel's two ways of writing them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cliffwatch_runner.host.cpu_lists import cpu_list, cpu_mask, parse_cpu_list, parse_cpu_mask

cpu_sets = st.frozensets(st.integers(min_value=0, max_value=300))


@given(cpu_sets)
def test_a_list_reads_back(cpus: frozenset[int]) -> None:
    assert parse_cpu_list(cpu_list(cpus)) == cpus


@given(cpu_sets)
def test_a_mask_reads_back(cpus: frozenset[int]) -> None:
    mask = parse_cpu_mask(cpu_mask(cpus))

    assert mask == sum(1 << cpu for cpu in cpus)


@given(st.text())
def test_no_text_raises(text: str) -> None:
    parse_cpu_list(text)
    parse_cpu_mask(text)


def test_neighbours_are_a_range_and_masks_have_groups_of_32_bits() -> None:
    assert cpu_list([3, 0, 1, 8]) == "0-1,3,8"
    assert cpu_mask([0, 33]) == "00000002,00000001"


@pytest.mark.parametrize("text", ["a", "1-", "-1", "1-2-3", "1;2"])
def test_what_is_no_list_is_none(text: str) -> None:
    assert parse_cpu_list(text) is None
