"""What cases execute is kept for the next run of a kernel, so that it measures what a change can touch and no
more.
"""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cliffwatch.failure import Failure
from cliffwatch.samples import CaseKey, CaseOutcome
from cliffwatch_runner.build.cache import executed as module
from cliffwatch_runner.build.cache.executed import Executed, join_executed, keep_executed, load_executed
from cliffwatch_runner.build.kernel import Kernel
from cliffwatch_runner.run.unchanged_builds.executed import kept_key, read_executed
from cliffwatch_runner.run.unchanged_builds.leaving_out import keep_counts, leave_out_unchanged

LOOKUP = CaseKey("local-storage", "local-storage-cache-seq-get", (("nr_maps", "16"),))
CONTROL = CaseKey("local-storage", "local-storage-cache-hashmap-control", (("hashmap_nr_keys_used", "10"),))
GONE = CaseKey("local-storage", "gone", ())


def executes(**cases: set[str]) -> Executed:
    of_name = {"lookup": LOOKUP, "control": CONTROL, "gone": GONE}
    known = {of_name[name]: frozenset(functions) for name, functions in cases.items()}
    return Executed(source="x", cases=known, start=frozenset({"boot"}), kernels=frozenset({"k"}))


def kernel(digest: str) -> Kernel:
    return Kernel(
        digest=digest,
        folder=Path("kernels") / digest,
        was_there=True,
        notes=(),
        config_digest="c",
        release="6.12",
        prebuilt=False,
        shows_config=True,
    )


def bench(content: str) -> Any:
    return SimpleNamespace(read_bytes=content.encode)


def built_run(cache: Path = Path("cache"), **changed: Any) -> Any:
    """A run, as far as it decides what cases execute and what is kept of it."""
    made: dict[str, Any] = {
        "kernel": "k1",
        "boot": (),
        "files": {},
        "bench": "b1",
        "programs": ("p1",),
        "data": None,
        "cpus": 1,
        "left_out": (),
        "known": None,
        "trust": "local",
        "only_affected": None,
    } | changed
    settings = SimpleNamespace(boot=made["boot"], files=lambda: made["files"])
    base = SimpleNamespace(kernel=kernel(made["kernel"]), subject=SimpleNamespace(settings=settings))
    return SimpleNamespace(
        arms={"base": base, "head": SimpleNamespace(kernel=kernel("k2"), subject=base.subject)},
        bench=SimpleNamespace(program=bench(made["bench"]), empty_loop=bench("empty loop")),
        programs={"base": [SimpleNamespace(suite="own", digest=each) for each in made["programs"]]},
        data=made["data"],
        shape=SimpleNamespace(record=lambda: {"cpus": made["cpus"]}),
        left_out=made["left_out"],
        known=made["known"],
        request=SimpleNamespace(cache=cache, trust=made["trust"], only_affected=made["only_affected"]),
        tools=None,
    )


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    kept = executes(lookup={"lookup", "tick"}, control={"hash", "tick"})

    keep_executed(tmp_path, "followed", "0a", kept)

    read = load_executed(tmp_path, "followed", "0a", "k")
    assert read is not None
    assert (read.cases, read.start, read.kernels) == (kept.cases, kept.start, kept.kernels)


def test_what_one_trust_left_is_nothing_to_another(tmp_path: Path) -> None:
    keep_executed(tmp_path, "followed", "0a", executes(lookup={"lookup"}))

    assert load_executed(tmp_path, "local", "0a", "k") is None


@pytest.mark.parametrize("content", [b"", b"no gzip", b"\x1f\x8b\x08\x00\x00"])
def test_what_cannot_be_read_is_not_known(tmp_path: Path, content: bytes) -> None:
    keep_executed(tmp_path, "local", "0a", executes(lookup={"lookup"}))
    (tmp_path / "executed/local/0a/executed.json.gz").write_bytes(content)

    assert load_executed(tmp_path, "local", "0a", "k") is None


def test_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 2)
    ages = {"0a": 1.0, "0b": 2.0, "0c": 3.0}
    monkeypatch.setattr(module, "_age", lambda folder: ages[folder.name])

    for key in ages:
        keep_executed(tmp_path, "local", key, executes(lookup={"lookup"}))

    assert [key for key in ages if load_executed(tmp_path, "local", key, "k")] == ["0b", "0c"]


@pytest.mark.parametrize(
    "changed",
    [
        {"kernel": "k3"},
        {"boot": ("mitigations=off",)},
        {"files": {"/proc/sys/kernel/x": "1"}},
        {"bench": "b2"},
        {"programs": ("p2",)},
        {"data": SimpleNamespace(digest="d")},
        {"cpus": 2},
    ],
)
def test_counts_are_of_one_kernel_with_one_set_of_programs_in_one_guest(changed: dict[str, Any]) -> None:
    assert kept_key(built_run(), "base") == kept_key(built_run(), "base")
    assert kept_key(built_run(**changed), "base") != kept_key(built_run(), "base")


def test_what_several_runs_executed_grows_together() -> None:
    both = join_executed(executes(lookup={"lookup"}), executes(lookup={"rare"}, control={"hash"}))

    assert both.cases == {LOOKUP: {"lookup", "rare"}, CONTROL: {"hash"}}


def test_a_run_keeps_what_it_counted_and_what_it_need_not_count(data: Path, tmp_path: Path) -> None:
    """A case that was left out executes in head what it executed in base; one that is gone is forgotten."""
    left_out = (CaseOutcome(case=CONTROL, status="unchanged-build", reason="nothing differs"),)
    known = executes(lookup={"old name"}, control={"carried"}, gone={"gone"})

    keep_counts(built_run(tmp_path, left_out=left_out, known=known), data / "runs/uninlined")

    kept = load_executed(tmp_path, "local", kept_key(built_run(), "head") or "", "k2")
    assert kept is not None
    assert "bpf_local_storage_lookup" in kept.cases[LOOKUP]
    assert "old name" in kept.cases[LOOKUP]
    assert "carried" in kept.cases[CONTROL]
    assert GONE not in kept.cases


def test_of_a_case_that_failed_nothing_is_kept(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not known what more it would have executed."""
    ended_well = frozenset({CONTROL})
    monkeypatch.setattr(
        "cliffwatch_runner.run.unchanged_builds.leaving_out._measured_well",
        lambda _: {"base": ended_well, "head": ended_well},
    )

    keep_counts(built_run(tmp_path), data / "runs/uninlined")

    kept = load_executed(tmp_path, "local", kept_key(built_run(), "head") or "", "k2")
    assert kept is not None
    assert set(kept.cases) == {CONTROL}


def test_of_anybodys_code_nothing_is_kept(data: Path, tmp_path: Path) -> None:
    keep_counts(built_run(tmp_path, trust="outside"), data / "runs/uninlined")

    assert list(tmp_path.iterdir()) == []


def test_arms_are_read_apart(data: Path) -> None:
    base, head = (read_executed(data / "runs/uninlined", arm) for arm in ("base", "head"))

    assert "bpf_local_storage_lookup" not in cast("Executed", base).cases[LOOKUP]
    assert "bpf_local_storage_lookup" in cast("Executed", head).cases[LOOKUP]
    assert replace(cast("Executed", base), cases={}) != replace(cast("Executed", head), cases={})


@pytest.mark.parametrize("asked", ["kept", Path("cliffwatch-results/counted")])
def test_beside_a_kernel_that_does_not_build_all_cases_are_measured(asked: Any, tmp_path: Path) -> None:
    made = built_run(tmp_path, only_affected=asked)
    made.arms["head"].kernel = Failure(whose="kernel", message="does not build", next_step="see its log")

    assert leave_out_unchanged(made) is made
