"""Documents: what is written comes back as it was, fits its schema, and what older versions wrote is still
read.
"""

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_documents import made_arm, made_record, made_row

from cliffwatch.formats.boot_record import BootRecord, SampleRecord, SamplesRecord
from cliffwatch.formats.comparison import ComparisonDocument, SideRecord, WarningRecord
from cliffwatch.formats.reading import as_json, document_text, read_as
from cliffwatch.formats.run_reading import read_run_record, run_record_of
from cliffwatch.formats.run_record import (
    ArmRecord,
    BenchRecord,
    CaseGuest,
    FailureRecord,
    LookRecord,
    PlannedBootRecord,
    PlannedCaseRecord,
    PlanRecord,
    RunRecord,
    StagesRecord,
)
from cliffwatch.formats.schemas import DOCUMENTS, schema_of, schema_text
from cliffwatch.formats.uploads import BootUpload, RunUpload, boot_upload_of, run_upload_of
from cliffwatch.formats.values import OutcomeRecord, Part
from cliffwatch.formats.verdicts import Control, Mean, Sweep, Verdict
from cliffwatch.parsers.readings import Problem
from cliffwatch.samples import CaseStatus

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "docs" / "schemas"

names = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cc", "Cs"]),
    min_size=1,
    max_size=12,
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
numbers = st.floats(allow_nan=False, allow_infinity=False)
shares = st.floats(0, 1)
counts = st.integers(0, 2**31 - 1)
digests = st.text("0123456789abcdef", min_size=8, max_size=64)
commits = st.text("0123456789abcdef", min_size=40, max_size=40)
moments = st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat())
free = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
cases: dict[str, Any] = {
    "suite": names,
    "benchmark": names,
    "params": st.dictionaries(names, texts, max_size=3),
}


def tuples(inner: st.SearchStrategy[Any], **more: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(inner, max_size=3, **more).map(tuple)


def optional(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | inner


outcomes = st.builds(OutcomeRecord, **cases, status=st.sampled_from(get_args(CaseStatus)), reason=texts)
failures = st.builds(
    FailureRecord,
    whose=st.sampled_from(["usage", "kernel", "host", ""]),
    message=texts,
    next_step=texts,
    evidence=texts,
)
guests = st.builds(CaseGuest, cpus=st.integers(1, 4096), memory_mib=optional(st.integers(1, 1 << 40)))
plans = st.builds(
    PlanRecord,
    seed=st.integers(0, 2**63 - 1),
    notable=optional(shares),
    stages=optional(
        st.builds(
            StagesRecord,
            screen=counts,
            screen_alpha=shares,
            looks=tuples(st.builds(LookRecord, boots=counts, alpha=shares)),
        )
    ),
    cases=tuples(
        st.builds(
            PlannedCaseRecord,
            **cases,
            argv=tuples(texts),
            warmup=optional(counts),
            duration=optional(counts),
            deadline=optional(counts),
            guest=optional(guests),
        )
    ),
    boots=tuples(
        st.builds(
            PlannedBootRecord,
            index=st.integers(1, 10_000),
            block=counts,
            arm=names,
            stage=st.sampled_from(["screen", "confirm"]),
            cases=optional(tuples(counts)),
        )
    ),
)
arms = st.lists(
    st.builds(
        ArmRecord,
        name=names,
        label=texts,
        facts=st.builds(
            lambda facts: made_arm(**facts).facts,
            st.fixed_dictionaries(
                {},
                optional={"commit": commits, "kernel": digests, "subject": texts, "parents": tuples(commits)},
            ),
        ),
        config_notes=tuples(texts),
        failure=optional(failures),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda arm: arm.name,
).map(tuple)
records = st.builds(
    lambda members: made_record(**members),
    st.fixed_dictionaries(
        {
            "created": moments,
            "status": st.sampled_from(["running", "incomplete", "complete"]),
            "identity": digests,
            "mode": st.sampled_from(["walltime", "icount"]),
            "platform": names,
            "profile": optional(names),
            "suites": tuples(names),
            "tree": texts,
            "arms": arms,
            "bench": optional(
                st.builds(
                    BenchRecord,
                    from_=optional(names),
                    digest=optional(digests),
                    source_digest=optional(digests),
                    fixed_seed=optional(st.booleans()),
                )
            ),
            "config_digest": optional(digests),
            "isolation": optional(texts),
            "plan": plans,
            "left_out": tuples(outcomes),
            "host": optional(st.dictionaries(texts.filter(lambda name: name != "cpu"), free, max_size=3)),
            "notes": tuples(texts),
        }
    ),
)
boots = st.builds(
    BootUpload,
    boot=st.builds(
        BootRecord,
        index=st.integers(1, 10_000),
        block=counts,
        arm=names,
        layout=optional(names),
        began=moments,
        ended=moments,
        status=names,
    ),
    environment=st.dictionaries(texts, free, max_size=3),
    samples=tuples(
        st.builds(
            SampleRecord,
            **cases,
            metric=names,
            unit=names,
            value=numbers,
            readings=tuples(numbers),
            resolution=st.floats(0, 1e9),
        )
    ),
    outcomes=tuples(outcomes),
)
rows = st.builds(
    lambda members: made_row(**members),
    st.fixed_dictionaries(
        {
            **cases,
            "change": optional(numbers),
            "ci_low": optional(numbers),
            "p": optional(shares),
            "interval_level": optional(shares),
            "threshold": shares,
            "verdict": st.sampled_from(get_args(Verdict)),
            "needs": optional(counts),
            "notes": tuples(texts),
            "primary": st.booleans(),
        }
    ),
)
comparisons = st.builds(
    ComparisonDocument,
    format=st.just("cliffwatch-comparison"),
    format_version=st.just(1),
    method_version=counts,
    arms=st.lists(
        st.builds(
            SideRecord, name=names, label=texts, boots=counts, facts=st.dictionaries(names, texts, max_size=2)
        ),
        min_size=2,
        max_size=4,
    ).map(tuple),
    platform=names,
    mode=st.sampled_from(["walltime", "icount"]),
    notable=shares,
    alpha=optional(shares),
    warnings=tuples(st.builds(WarningRecord, arm=names, text=texts)),
    failures=st.just(()),
    means=tuples(
        st.builds(
            Mean,
            metric=names,
            unit=names,
            rows=counts,
            change=numbers,
            ci_low=optional(numbers),
            ci_high=optional(numbers),
        )
    ),
    control=optional(st.builds(Control, arm=names, rows=counts, published=counts, largest=shares)),
    sweeps=tuples(
        st.builds(
            Sweep,
            suite=names,
            benchmark=names,
            parameter=names,
            metric=names,
            words=texts,
            base_breakpoint=optional(st.tuples(numbers, numbers)),
            fixed=st.dictionaries(names, optional(texts), max_size=2),
            differs=optional(st.booleans()),
        )
    ),
    left_out=tuples(outcomes),
    comparisons=tuples(rows),
)


def fits(kind: type[Part], document: Any) -> None:
    jsonschema.validate(json.loads(document_text(document)), schema_of(kind))


@given(records)
def test_run_json_comes_back_as_it_was(record: RunRecord) -> None:
    assert read_run_record(document_text(record)) == record
    fits(RunRecord, record)


@given(records, names, optional(names))
def test_an_upload_of_a_run_comes_back_as_it_was(record: RunRecord, host: str, job: str | None) -> None:
    upload = RunUpload(host=host, record=record, job=job)
    assert run_upload_of(as_json(upload)) == upload
    fits(RunUpload, upload)


@given(boots)
def test_a_boot_comes_back_as_it_was(boot: BootUpload) -> None:
    assert boot_upload_of(json.loads(document_text(boot))) == boot
    assert read_as(document_text(boot.boot), BootRecord) == boot.boot
    measured = SamplesRecord(samples=boot.samples, outcomes=boot.outcomes, problems=boot.problems)
    assert read_as(document_text(measured), SamplesRecord) == measured
    fits(BootUpload, boot)


@given(comparisons)
def test_a_comparison_comes_back_as_it_was(document: ComparisonDocument) -> None:
    assert read_as(document_text(document), ComparisonDocument) == document
    fits(ComparisonDocument, document)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_schemas_are_those_of_the_types(name: str) -> None:
    """`python -m cliffwatch.formats.schemas docs/schemas` writes them anew."""
    text = (SCHEMAS / f"{name}.schema.json").read_text()
    assert text == schema_text(DOCUMENTS[name])
    jsonschema.Draft202012Validator.check_schema(json.loads(text))


def test_there_is_no_schema_of_what_is_no_document() -> None:
    """That of exported tables is written by tools/write_table_schema.py."""
    names = {path.name.removesuffix(".schema.json") for path in SCHEMAS.iterdir()}
    assert names == {*DOCUMENTS, "table"}


FIXTURES = sorted((ROOT / "tests/data/runs").glob("*"))


@pytest.mark.parametrize("folder", FIXTURES, ids=lambda folder: folder.name)
def test_every_fixture_is_read_and_fits_the_schemas_once_it_is_written_anew(folder: Path) -> None:
    record = read_run_record((folder / "run.json").read_bytes())
    assert isinstance(record, RunRecord), record
    fits(RunRecord, record)
    for boot in folder.glob("boots/*/boot.json"):
        for name, kind in (("boot.json", BootRecord), ("samples.json", SamplesRecord)):
            document = read_as((boot.parent / name).read_bytes(), kind)
            assert isinstance(document, kind), document
            fits(kind, document)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"format": "another"}, "format"),
        ({"format_version": 2}, "format_version"),
        ({"format_version": True}, "format_version"),
        ({"identity": "no digest"}, "identity"),
        ({"identity": "0" * 32 + "\n"}, "identity"),
        ({"arms": []}, "arms"),
        ({"arms": [as_json(made_arm()), as_json(made_arm())]}, "arms"),
        ({"plan": {"seed": -1, "cases": [], "boots": []}}, "plan.seed"),
        ({"plan": {"seed": 1, "cases": [], "boots": [{"index": 1, "block": 0}]}}, "plan.boots.0"),
        ({"guest": {"cpus": 0}}, "guest.cpus"),
        ({"host": {"cpu": {"microcode": [1]}}}, "host.cpu.microcode.0"),
        ({"toolchain": {"gcc": 12}}, "toolchain.gcc"),
        ({"platform": "two\nlines"}, "platform"),
    ],
)
def test_what_is_wrong_with_a_record_is_said_with_its_place(change: dict[str, Any], where: str) -> None:
    wrong = run_record_of({**as_json(made_record()), **change})
    assert isinstance(wrong, Problem)
    assert wrong.member == where
    assert wrong.reason


@given(free)
def test_whatever_is_read_nothing_is_raised(content: Any) -> None:
    for kind in ("cliffwatch-run", "cliffwatch-comparison"):
        raw = {
            "format": kind,
            "format_version": 1,
            "arms": content,
            "plan": content,
            "comparisons": content,
        }
        text = msgspec.json.encode(raw)
        assert isinstance(read_run_record(text), Problem)
        assert isinstance(read_as(text, ComparisonDocument), Problem)


def test_what_is_made_has_any_name_and_what_is_read_has_none_with_control_characters() -> None:
    """A program shows what it was given; what others wrote is refused with its place."""
    made = SampleRecord(
        suite="s", benchmark="b\n", params={}, metric="m", unit="u", value=1.0, readings=(), resolution=0
    )
    read = read_as(document_text(SamplesRecord(samples=(made,), outcomes=())), SamplesRecord)

    assert isinstance(read, Problem)
    assert read.member == "samples.0"
    assert "one line" in read.reason
