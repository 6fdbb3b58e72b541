"""Generates the JSON Schemas of the documents from their types.

`python -m cliffwatch.formats.schemas docs/schemas` writes them.
"""

import ast
import inspect
import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec

from cliffwatch.formats.boot_record import BootRecord, EnvironmentRecord, SamplesRecord
from cliffwatch.formats.calibration import CalibrationDocument
from cliffwatch.formats.code.affected import AffectedDocument
from cliffwatch.formats.code.bpf_programs import BpfProgramsRecord
from cliffwatch.formats.code.differences import CodeRecord
from cliffwatch.formats.code.function_counts import FunctionCountsRecord
from cliffwatch.formats.code.profile import ProfileRecord
from cliffwatch.formats.comparison import ComparisonDocument, RevisionComparison, RunComparison
from cliffwatch.formats.releases_record import ReleasesRecord
from cliffwatch.formats.run_record import RunRecord
from cliffwatch.formats.uploads import BootUpload, RunUpload
from cliffwatch.formats.values import FreeJson, Part

DOCUMENTS: Mapping[str, type[Part]] = {
    "run": RunRecord,
    "boot": BootRecord,
    "samples": SamplesRecord,
    "environment": EnvironmentRecord,
    "function-counts": FunctionCountsRecord,
    "bpf-programs": BpfProgramsRecord,
    "affected": AffectedDocument,
    "code": CodeRecord,
    "profile": ProfileRecord,
    "run-upload": RunUpload,
    "boot-upload": BootUpload,
    "comparison": ComparisonDocument,
    "run-comparison": RunComparison,
    "revision-comparison": RevisionComparison,
    "releases": ReleasesRecord,
    "calibration": CalibrationDocument,
}
"""By the schema's file name, without `.schema.json`."""


def schema_of(kind: type[Part]) -> FreeJson:
    """Returns the schema of a document, with the lines under its types and their fields as descriptions."""
    schema = msgspec.json.schema(kind)
    for name, each in schema["$defs"].items():
        each["description"] = " ".join(each["description"].split())
        documented = _field_docs().get(name, {})
        for field, content in each.get("properties", {}).items():
            if field in documented:
                content["description"] = documented[field]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


@cache
def _field_docs() -> Mapping[str, Mapping[str, str]]:
    """The docstring under each field, by class and field, of all modules that hold types of documents."""
    modules = [module for name, module in sys.modules.items() if name.startswith("cliffwatch.formats.")]
    classes = (
        node
        for module in modules
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.ClassDef)
    )
    return {node.name: dict(_docs_under(node)) for node in classes}


def _docs_under(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, below in pairwise(node.body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(below, ast.Expr)
            and isinstance(below.value, ast.Constant)
        ):
            yield field.target.id, " ".join(str(below.value.value).split())


def schema_text(kind: type[Part]) -> str:
    return json.dumps(schema_of(kind), indent=1) + "\n"


def main() -> None:
    folder = Path(sys.argv[1])
    for name, kind in DOCUMENTS.items():
        (folder / f"{name}.schema.json").write_text(schema_text(kind))


if __name__ == "__main__":
    main()
