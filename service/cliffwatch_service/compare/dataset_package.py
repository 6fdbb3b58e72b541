"""Reads and writes the Data Package (datapackage.org) that describes the folder of a public dataset."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import orjson

from cliffwatch.formats.reading import as_json, read_as
from cliffwatch.formats.values import Part as Member
from cliffwatch.parsers.readings import Problem
from cliffwatch_service.refusal import Refusal

FORMAT: Final = "cliffwatch-dataset"
FORMAT_VERSION: Final = 1
FILE = "datapackage.json"
SCHEMA_FILE = "table.schema.json"
_PROFILE = "https://datapackage.org/profiles/2.0/datapackage.json"
_MEDIA_TYPES = {"parquet": "application/vnd.apache.parquet", "csv": "text/csv"}
_LARGEST = 64 << 20
_PIECE = 1 << 20

TEXT = "string"
RUN_FIELDS = {
    "run": (TEXT, "The run, as in the samples."),
    "platform": (TEXT, "The kind of machine."),
    "mode": (TEXT, "walltime or icount."),
    "created": ("datetime", "When it began."),
    "received": ("datetime", "When the service got it."),
    "part": (TEXT, "The resource that its samples are in."),
}
REVISION_FIELDS = {
    "commit": (TEXT, "The commit."),
    "tree": (TEXT, "git's name of its content."),
    "parents": (TEXT, "Its parents, the first one first, with blanks between them."),
    "authored": ("datetime", "When it was written."),
    "committed": ("datetime", "When it was committed."),
    "subject": (TEXT, "The first line of its message."),
    "release": (TEXT, "The kernel's release."),
}
VERDICT_FIELDS = {
    "comparison": (TEXT, "The comparison."),
    "platform": (TEXT, "The kind of machine."),
    "mode": (TEXT, "walltime or icount."),
    "base_run": (TEXT, "The run of its base."),
    "head_run": (TEXT, "The run of its head."),
    "base": (TEXT, "The commit of its base."),
    "head": (TEXT, "The commit of its head."),
    "method_version": ("integer", "The version of the method that made it."),
    "made": ("datetime", "When it was made."),
    "suite": (TEXT, "The suite of the benchmark."),
    "benchmark": (TEXT, "The benchmark."),
    "params": ("object", "Its parameters."),
    "metric": (TEXT, "What was measured."),
    "unit": (TEXT, "Its unit."),
    "verdict": (TEXT, "The verdict; rows that are unchanged are not in this table."),
    "change": ("number", "The change, as a fraction of base."),
    "ci_low": ("number", "The lower end of its interval."),
    "ci_high": ("number", "The upper end."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A file of samples."""

    path: str
    bytes: int
    hash: str
    """`sha256:` and the digest of the file."""
    rows: int
    runs: tuple[str, ...]
    finished: bool
    """True if the part is full and never changes. The last part is rewritten until it is full."""

    @property
    def name(self) -> str:
        return self.path.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Contents of a dataset folder."""

    form: str
    licence: str
    demonstration: bool
    created: str
    version: str
    """Version of Cliffwatch."""
    parts: Sequence[Part]
    tables: Mapping[str, Mapping[str, tuple[str, str]]]
    """Type and description of each field of each table, by file name."""


class _Licence(Member, frozen=True, kw_only=True):
    name: str


class _About(Member, frozen=True, kw_only=True):
    """The package's section for Cliffwatch's own readers."""

    format: Literal["cliffwatch-dataset"] = FORMAT
    format_version: Literal[1] = FORMAT_VERSION
    cliffwatch_version: str
    demonstration: bool
    form: str
    runs: int
    rows: int


class _Samples(Member, omit_defaults=True, frozen=True, kw_only=True):
    """A part, as a resource of the package."""

    name: str
    path: str
    format: str
    mediatype: str
    compression: str | None = None
    encoding: str | None = None
    bytes: int
    hash: str
    schema: str
    rows: int
    runs: tuple[str, ...]
    finished: bool


class _Field(Member, frozen=True, kw_only=True):
    name: str
    type: str
    description: str


class _Schema(Member, rename={"missing_values": "missingValues"}, frozen=True, kw_only=True):
    fields: tuple[_Field, ...]
    missing_values: tuple[str, ...] = ("",)


class _Table(Member, frozen=True, kw_only=True):
    """A table beside the samples, as a resource of the package."""

    name: str
    path: str
    format: str
    mediatype: str
    encoding: str
    bytes: int
    hash: str
    schema: _Schema


class _Package(Member, rename={"schema": "$schema"}, frozen=True, kw_only=True):
    schema: str
    name: str
    title: str
    description: str
    created: str
    licenses: tuple[_Licence, ...]
    cliffwatch: _About
    resources: tuple[_Samples | _Table, ...]


class _ReadAbout(Member, frozen=True, kw_only=True):
    format: Literal["cliffwatch-dataset"]
    format_version: Literal[1]
    form: str


class _ReadResource(Member, frozen=True, kw_only=True):
    """A part or a table. Tables have no `finished`."""

    path: str
    bytes: int
    hash: str
    rows: int = 0
    runs: tuple[str, ...] = ()
    finished: bool | None = None


class _ReadPackage(Member, frozen=True, kw_only=True):
    """The members that are read from an existing package."""

    cliffwatch: _ReadAbout
    resources: tuple[_ReadResource, ...]


def hash_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return f"sha256:{digest.hexdigest()}"


def package(folder: Path, contents: Contents) -> bytes:
    """Returns the package document. The files that it names must exist already."""
    described = _Package(
        schema=_PROFILE,
        name="cliffwatch-samples",
        title="What Cliffwatch measured" + (", a demonstration" if contents.demonstration else ""),
        description=(
            "Performance of the Linux kernel's BPF subsystem: every sample of every boot of followed"
            " branches."
        ),
        created=contents.created,
        licenses=(_Licence(name=contents.licence),),
        cliffwatch=_About(
            cliffwatch_version=contents.version,
            demonstration=contents.demonstration,
            form=contents.form,
            runs=sum(len(part.runs) for part in contents.parts),
            rows=sum(part.rows for part in contents.parts),
        ),
        resources=(*map(_samples, contents.parts), *_tables(folder, contents)),
    )
    return orjson.dumps(as_json(described), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _samples(part: Part) -> _Samples:
    form = "parquet" if part.path.endswith(".parquet") else "csv"
    packed = form == "csv"
    return _Samples(
        name=part.name,
        path=part.path,
        format=form,
        mediatype=_MEDIA_TYPES[form],
        compression="gz" if packed else None,
        encoding="utf-8" if packed else None,
        bytes=part.bytes,
        hash=part.hash,
        schema=SCHEMA_FILE,
        rows=part.rows,
        runs=part.runs,
        finished=part.finished,
    )


def _tables(folder: Path, contents: Contents) -> Iterator[_Table]:
    for path, fields in contents.tables.items():
        described = [_Field(name=name, type=kind, description=said) for name, (kind, said) in fields.items()]
        yield _Table(
            name=path.partition(".")[0],
            path=path,
            format="csv",
            mediatype="text/csv",
            encoding="utf-8",
            bytes=(folder / path).stat().st_size,
            hash=hash_of(folder / path),
            schema=_Schema(fields=tuple(described)),
        )


def parts_of(folder: Path, form: str) -> list[Part]:
    """Returns the parts of a dataset folder; none if the folder is empty or does not exist.

    Raises Refusal if the folder holds anything but a dataset of this form.
    """
    file = folder / FILE
    if not file.exists():
        if folder.exists() and any(not each.name.startswith(".") for each in folder.iterdir()):
            raise Refusal(
                422, "no dataset", f"{folder} holds other files than a dataset: name an empty folder"
            )
        return []
    content = read_as(file.read_bytes()[:_LARGEST], _ReadPackage)
    parts = None if isinstance(content, Problem) else _read_parts(content)
    if isinstance(content, Problem) or parts is None:
        raise _refuse_other_dataset(f"{folder} has a {FILE} that this version did not write")
    if content.cliffwatch.form != form:
        raise _refuse_other_dataset(f"{folder} is a dataset of {content.cliffwatch.form}")
    return parts


def _refuse_other_dataset(what: str) -> Refusal:
    return Refusal(422, "another dataset", f"{what}: name an empty folder")


def _read_parts(content: _ReadPackage) -> list[Part] | None:
    """Returns the parts of a package; None if it names a file outside its folder."""
    listed = [each for each in content.resources if each.finished is not None]
    if any(Path(each.path).name != each.path for each in listed):
        return None
    return [
        Part(
            path=each.path,
            bytes=each.bytes,
            hash=each.hash,
            rows=each.rows,
            runs=each.runs,
            finished=bool(each.finished),
        )
        for each in listed
    ]
