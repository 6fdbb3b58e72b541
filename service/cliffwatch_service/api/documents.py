"""Bodies that are checked as bytes, for speed, and described in OpenAPI all the same."""

from typing import Any, TypeVar

import orjson
from fastapi import Request
from pydantic import TypeAdapter, ValidationError

from cliffwatch_service.http.bodies import body_content
from cliffwatch_service.http.problems import invalid
from cliffwatch_service.ingest.free_form import plain, refuse_odd
from cliffwatch_service.refusal import Refusal
from cliffwatch_service.runtime.free_json import JsonObject

T = TypeVar("T")

_described: dict[str, TypeAdapter[Any]] = {}


def described(name: str, adapter: TypeAdapter[Any]) -> JsonObject:
    """The `openapi_extra` of an endpoint that takes such a body."""
    _described[name] = adapter
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    return {"requestBody": {"required": True, "content": content}}


def schemas() -> JsonObject:
    """The schemas of all described bodies and of what they are made of."""
    by_name: JsonObject = {}
    for name, adapter in _described.items():
        schema = adapter.json_schema(ref_template="#/components/schemas/{model}")
        by_name.update(schema.pop("$defs", {}))
        by_name[name] = schema
    return by_name


def checked(adapter: TypeAdapter[T], body: bytes, *, typed: frozenset[str] = frozenset()) -> tuple[Any, T]:
    """The body as it is stored, and as its type. Its members but the `typed` ones, which hold nothing free, are made fit
    for storing. Raises Refusal with the paths of what is wrong.
    """
    raw = plain_json(body)
    free = {name: value for name, value in raw.items() if name not in typed} if isinstance(raw, dict) else {}
    refuse_odd(free)
    upload = _validated(adapter, body)
    fit = plain(free)
    if fit == free:
        return raw, upload
    raw = {**raw, **fit}
    return raw, _validated(adapter, orjson.dumps(raw))


def _validated(adapter: TypeAdapter[T], body: bytes) -> T:
    try:
        return adapter.validate_json(body, strict=True)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_context=False, include_input=False)) from None


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
