"""JSON documents that msgspec checks, and their schemas for the OpenAPI description."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import orjson
from fastapi import Request

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.http.bodies import body_content
from cliffwatch_service.ingest.free_form import refuse_odd, replace_control_characters
from cliffwatch_service.refusal import Refusal

T = TypeVar("T")

_DESCRIBED_KINDS: dict[str, type[msgspec.Struct]] = {}
_RESPONSE_KINDS: set[str] = set()


def request_body(kind: type[msgspec.Struct]) -> FreeJson:
    """Returns the `openapi_extra` of an endpoint that takes a document of this kind."""
    return {"requestBody": {"required": True, "content": _content(kind)}}


def document_response(kind: type[msgspec.Struct], *, whole: bool = True) -> dict[int | str, FreeJson]:
    """Returns the `responses` of an endpoint that sends a document of this kind.

    whole: the response has every member; those that are optional in the schema are optional only for clients.
    """
    if whole:
        _RESPONSE_KINDS.add(kind.__name__)
    return {200: {"description": "OK", "content": _content(kind)}}


def _content(kind: type[msgspec.Struct]) -> FreeJson:
    _DESCRIBED_KINDS[kind.__name__] = kind
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}


def schemas() -> FreeJson:
    """Returns the schemas of all described documents and of their parts."""
    _, by_name = msgspec.json.schema_components(
        _DESCRIBED_KINDS.values(), ref_template="#/components/schemas/{name}"
    )
    whole = {
        name: {**by_name[name], "required": list(by_name[name]["properties"])} for name in _RESPONSE_KINDS
    }
    return by_name | whole


def parse_document(
    typed_of: Callable[[FreeJson], T], body: bytes, *, typed: frozenset[str] = frozenset()
) -> tuple[FreeJson, T]:
    """Parses a body and makes its free-form members fit to store. Raises Refusal with the place of a fault.

    `typed` names the members without free-form content, which stay as they are. Returns the document to store
    and the same document as its type.
    """
    raw = plain_json(body)
    if not isinstance(raw, dict):
        raise Refusal(422, "invalid request", "the body is not a JSON object: send the document as an object")
    free = {name: value for name, value in raw.items() if name not in typed}
    refuse_odd(free)
    upload = typed_of(raw)  # first: names with control characters are refused
    fit = replace_control_characters(free)
    if fit == free:
        return raw, upload
    raw = {**raw, **fit}
    return raw, typed_of(raw)


def plain_json(body: bytes) -> Any:
    """Parses JSON. Raises Refusal."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, "no JSON", f"the body is not valid JSON: {error}") from None


async def body_of(request: Request) -> bytes:
    """Returns a request's body. Raises Refusal if its content type is not JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "unknown content type", "send the body as application/json")
    return await body_content(request)
