"""The Data Package (datapackage.org) that says what lies in the folder of a public dataset."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from cliffwatch_service.refusal import Refusal

FORMAT = "cliffwatch-dataset"
FORMAT_VERSION = 1
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
    """A file of samples. A finished one is full and stays as it is; the last one is written again with what came since."""

    path: str
    bytes: int
    hash: str
    rows: int
    runs: tuple[str, ...]
    finished: bool

    @property
    def name(self) -> str:
        return self.path.partition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a folder holds: its parts, and its tables as a file name and its fields."""

    form: str
    licence: str
    demonstration: bool
    created: str
    version: str
    parts: Sequence[Part]
    tables: Mapping[str, Mapping[str, tuple[str, str]]]


def hash_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return f"sha256:{digest.hexdigest()}"


def package(folder: Path, contents: Contents) -> bytes:
    """The whole document. Files that it names are there already."""
    described = {
        "$schema": _PROFILE,
        "name": "cliffwatch-samples",
        "title": "What Cliffwatch measured" + (", a demonstration" if contents.demonstration else ""),
        "description": "Performance of the Linux kernel's BPF subsystem: every sample of every boot of followed branches.",
        "created": contents.created,
        "licenses": [{"name": contents.licence}],
        "cliffwatch": {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "cliffwatch_version": contents.version,
            "demonstration": contents.demonstration,
            "form": contents.form,
            "runs": sum(len(part.runs) for part in contents.parts),
            "rows": sum(part.rows for part in contents.parts),
        },
        "resources": [*map(_part, contents.parts), *_tables(folder, contents)],
    }
    return orjson.dumps(described, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _part(part: Part) -> dict[str, Any]:
    form = "parquet" if part.path.endswith(".parquet") else "csv"
    packed = {"compression": "gz", "encoding": "utf-8"} if form == "csv" else {}
    return {
        "name": part.name,
        "path": part.path,
        "format": form,
        "mediatype": _MEDIA_TYPES[form],
        **packed,
        "bytes": part.bytes,
        "hash": part.hash,
        "schema": SCHEMA_FILE,
        "rows": part.rows,
        "runs": list(part.runs),
        "finished": part.finished,
    }


def _tables(folder: Path, contents: Contents) -> Iterator[dict[str, Any]]:
    for path, fields in contents.tables.items():
        yield {
            "name": path.partition(".")[0],
            "path": path,
            "format": "csv",
            "mediatype": "text/csv",
            "encoding": "utf-8",
            "bytes": (folder / path).stat().st_size,
            "hash": hash_of(folder / path),
            "schema": {
                "fields": [{"name": name, "type": kind, "description": said} for name, (kind, said) in fields.items()],
                "missingValues": [""],
            },
        }


def parts_of(folder: Path, form: str) -> list[Part]:
    """The parts that a folder has; none where it is empty or is not there. Raises Refusal where it holds anything else."""
    file = folder / FILE
    if not file.exists():
        if folder.exists() and any(not each.name.startswith(".") for each in folder.iterdir()):
            raise Refusal(422, "no dataset", f"{folder} holds other files than a dataset: name an empty folder")
        return []
    try:
        content = orjson.loads(file.read_bytes()[:_LARGEST])
        about = content["cliffwatch"]
        known = about["format"] == FORMAT and about["format_version"] == FORMAT_VERSION
        listed = [_read_part(each) for each in content["resources"] if "finished" in each]
        before = about["form"]
    except (ValueError, KeyError, TypeError):
        known, listed, before = False, [], form
    if not known or before != form:
        what = f"is a dataset of {before}" if known else f"has a {FILE} that this version did not write"
        raise Refusal(422, "another dataset", f"{folder} {what}: name an empty folder")
    return listed


def _read_part(content: Mapping[str, Any]) -> Part:
    path = str(content["path"])
    if Path(path).name != path:
        raise ValueError(path)
    return Part(
        path=path,
        bytes=int(content["bytes"]),
        hash=str(content["hash"]),
        rows=int(content["rows"]),
        runs=tuple(map(str, content["runs"])),
        finished=bool(content["finished"]),
    )
