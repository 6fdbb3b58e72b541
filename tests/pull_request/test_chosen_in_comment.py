"""A comment says above its rows which suites were measured, and why."""

from dataclasses import replace

from states import CONTEXT, calm, measured, state

from cliffwatch.pull_request.comment import sticky_comment

SUITES = "Suites by what head changes in kernel/bpf/ringbuf.c: ringbufs (executes __bpf_ringbuf_reserve)"


def test_what_was_chosen_stands_once_for_all_targets() -> None:
    rows = calm()
    progress = measured(*rows, context=replace(CONTEXT, chosen=(SUITES,)))
    words = " ".join(sticky_comment(state(progress, progress)).replace("\\", "").split())

    assert words.count(SUITES) == 1
    assert words.index(SUITES) < words.index("<details>")


def test_a_target_that_chose_otherwise_is_named() -> None:
    rows = calm()
    one = measured(*rows, context=replace(CONTEXT, chosen=(SUITES,)))
    other = measured(*rows, context=replace(CONTEXT, chosen=("Suites by another host: bloom",)))
    words = " ".join(sticky_comment(state(one, other)).replace("\\", "").split())

    assert f"amd-rome: {SUITES}." in words
    assert "intel-skylake: Suites by another host: bloom." in words
