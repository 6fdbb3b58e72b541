"""Adds examples and refusals to the description that FastAPI makes."""

from collections.abc import Mapping

from cliffwatch.formats.values import FreeJson
from cliffwatch.parsers.table.columns import FORMAT, FORMAT_VERSION
from cliffwatch_service.api import documents
from cliffwatch_service.api.description.examples import example_of
from cliffwatch_service.api.description.refusals import name_of, responses, statuses_of

_EXAMPLES: Mapping[str, str | FreeJson] = {
    "healthz": "alive\n",
    "readyz": "ready\n",
    "metrics": 'cliffwatch_jobs{state="queued"} 2.0\n',
    "read_raw": "Summary: hits   58.934 ± 0.050M/s\n",
    "upload_file": "BenchmarkLookup-2  1000000  185.8 ns/op\n",
    "read_feed": '<feed xmlns="http://www.w3.org/2005/Atom"><title>Cliffwatch</title></feed>\n',
    "stream_events": 'id: 1\nevent: progress\ndata: {"text":"boot 1 of 8"}\n\n',
    "take_webhook": {"action": "opened", "number": 1, "repository": {"full_name": "example/linux"}},
    "read_export application/json": {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "samples": [
            {"suite": "local-storage", "metric": "insns/op", "arm": "head", "boot": 1, "value": 173.517}
        ],
    },
    "text/csv": "suite,benchmark,metric,arm,boot,value\nlocal-storage,control,insns/op,head,1,275.7\n",
    "text/plain": "BenchmarkLookup-2  1  185.8 ns/op\n",
}
"""What no schema tells, by media type in an operation, by operation or by media type."""

BINARY = frozenset({"application/x-tar", "application/vnd.apache.parquet"})
"""Media types without an example."""


def complete(description: FreeJson) -> None:
    """Adds the schemas of documents, an example for every body and answer, and every operation's refusals."""
    components = description.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas.update(documents.schemas())
    components["responses"] = responses()
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            body = operation.get("requestBody", {})
            for answer in (body, *operation["responses"].values()):
                for kind, content in answer.get("content", {}).items():
                    _add_example(kind, content, operation["operationId"], schemas)
            for status in statuses_of(f"{method.upper()} {path}", has_body=bool(body)):
                operation["responses"][status] = {"$ref": f"#/components/responses/{name_of(status)}"}


def _add_example(kind: str, content: FreeJson, operation: str, schemas: Mapping[str, FreeJson]) -> None:
    if kind in BINARY:
        return
    schema = content.get("schema", {})
    named = () if "$ref" in schema else (f"{operation} {kind}", operation, kind)
    known = next((_EXAMPLES[key] for key in named if key in _EXAMPLES), None)
    content["example"] = example_of(schema, schemas) if known is None else known
