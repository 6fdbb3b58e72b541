"""Generates the JSON Schemas of the documents from their types.

`python -m cliffwatch.formats.schemas docs/schemas` writes them.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from cliffwatch.formats.boot_record import BootRecord, EnvironmentRecord, SamplesRecord
from cliffwatch.formats.code.affected import AffectedDocument
from cliffwatch.formats.code.bpf_programs import BpfProgramsRecord
from cliffwatch.formats.code.differences import CodeRecord
from cliffwatch.formats.code.function_counts import FunctionCountsRecord
from cliffwatch.formats.code.profile import ProfileRecord
from cliffwatch.formats.comparison import ComparisonDocument, RevisionComparison, RunComparison
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
}
"""By the schema's file name, without `.schema.json`."""


def schema_of(kind: type[Part]) -> FreeJson:
    schema = msgspec.json.schema(kind)
    for each in schema["$defs"].values():
        each["description"] = " ".join(each["description"].split())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schema_text(kind: type[Part]) -> str:
    return json.dumps(schema_of(kind), indent=1) + "\n"


def main() -> None:
    folder = Path(sys.argv[1])
    for name, kind in DOCUMENTS.items():
        (folder / f"{name}.schema.json").write_text(schema_text(kind))


if __name__ == "__main__":
    main()
