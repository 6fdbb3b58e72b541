"""Bodies that are checked as documents, and described in OpenAPI all the same."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import orjson
from fastapi import Request

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.http.bodies import body_content
from cliffwatch_service.ingest.free_form import plain, refuse_odd
from cliffwatch_service.refusal import Refusal

T = TypeVar("T")

_described: dict[str, type[msgspec.Struct]] = {}
_answered: set[str] = set()


def described(kind: type[msgspec.Struct]) -> FreeJson:
    """The `openapi_extra` of an endpoint that takes such a body."""
    return {"requestBody": {"required": True, "content": _content(kind)}}


def answered(kind: type[msgspec.Struct]) -> dict[int | str, FreeJson]:
    """The `responses` of an endpoint that answers such a document, with every member of it: what it may lack, others may lack who send it."""
    _answered.add(kind.__name__)
    return {200: {"description": "OK", "content": _content(kind)}}


def _content(kind: type[msgspec.Struct]) -> FreeJson:
    _described[kind.__name__] = kind
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{kind.__name__}"}}}


def schemas() -> FreeJson:
    """The schemas of all described bodies and of what they are made of."""
    _, by_name = msgspec.json.schema_components(
        _described.values(), ref_template="#/components/schemas/{name}"
    )
    whole = {name: {**by_name[name], "required": list(by_name[name]["properties"])} for name in _answered}
    return by_name | whole


def checked(
    typed_of: Callable[[FreeJson], T], body: bytes, *, typed: frozenset[str] = frozenset()
) -> tuple[FreeJson, T]:
    """The body as it is stored, and as its type. Its members but the `typed` ones, which hold nothing free, are made fit
    for storing. Raises Refusal with the place of what is wrong.
    """
    raw = plain_json(body)
    if not isinstance(raw, dict):
        raise Refusal(422, "invalid request", "the document: it holds no object")
    free = {name: value for name, value in raw.items() if name not in typed}
    refuse_odd(free)
    upload = typed_of(raw)  # before control characters are replaced: names with them are refused
    fit = plain(free)
    if fit == free:
        return raw, upload
    raw = {**raw, **fit}
    return raw, typed_of(raw)


def plain_json(body: bytes) -> Any:
    """Raises Refusal."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, "no JSON", f"the body is no JSON: {error}") from None


async def body_of(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "unknown content type", "send the body as application/json")
    return await body_content(request)
