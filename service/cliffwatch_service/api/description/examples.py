"""Examples, made from schemas: each member gets the value that `WORDS` or `NUMBERS` has for its name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cliffwatch.formats.values import FreeJson

_COMMIT = "9f1083cd5ad770fa7145e2dc19cf272b87e2f4fa"
_DIGEST = "b74006760fbdff636b92863541d0852a"
_TIME = "2026-11-21T12:00:00Z"
_DEEPEST = 6
"""Depth from which lists and free objects stay empty: some records hold records of a dozen levels."""

WORDS: Mapping[str, str] = {
    "address": "dev@example.org",
    "arm": "head",
    "arms": "head",
    "author": "A. Developer <dev@example.org>",
    "base": "b80bd094feed560eefa90bee123a71d2ea50951e",
    "benchmark": "local-storage-cache-int-get",
    "boots": "auto",
    "better": "lower",
    "branch": "master",
    "channel": "mail",
    "head": _COMMIT,
    "host": "emulator-1",
    "kind": "progress",
    "label": "bpf-next",
    "metric": "insns/op",
    "name": "local-storage",
    "note": "asked for by the maintainers",
    "owner": "maintainers",
    "params": "16",
    "params name": "nr_maps",
    "platform": "emulated-x86-64",
    "reason": "the kernel did not build",
    "scopes": "upload",
    "secret": "cw_EXAMPLE",
    "subject": "bpf: look up the storage once",
    "suite": "local-storage",
    "suites": "local-storage",
    "text": "boot 1 of 8",
    "title": "local-storage: 5.5 % more instructions",
    "tree": "https://git.kernel.org/pub/scm/linux/kernel/git/bpf/bpf-next.git",
    "unit": "insns/op",
    "verdict": "regression",
    "url": "https://cliffwatch.example.org/compare/b80bd094feed...9f1083cd5ad7",
    "token": "eyJhbGciOiJSUzI1NiJ9.e30.EXAMPLE",
}
"""Texts by the name of the member; `… name`: a key of that member."""

_FORMS = (
    _COMMIT,
    _DIGEST,
    _DIGEST[:24],
    _DIGEST * 2,
    _TIME,
    "https://example.org/",
    "v1.0.0",
    "gcc-14",
    "auto",
    "example",
)
"""Texts for members that `WORDS` lacks or whose pattern its value does not have: the first that fits."""

NUMBERS: Mapping[str, float] = {
    "base": 164.492,
    "boots": 8,
    "change": 0.0548704,
    "ci_high": 0.0553704,
    "ci_low": 0.0543704,
    "head": 173.517,
    "mde": 0.002,
    "notable": 0.002,
    "p": 0.0001,
    "q": 0.0004,
    "threshold": 0.002,
}
"""Numbers by the name of the member. Others are 1."""


def example_of(schema: FreeJson, schemas: Mapping[str, FreeJson]) -> Any:
    """Returns a value that the schema admits. `schemas`: the components that it may refer to.

    Objects have their required members; at the top level also the optional ones that `WORDS` knows, and all
    members if that is none.
    """
    return _Maker(schemas).make(schema, "", 0)


@dataclass(frozen=True, slots=True)
class _Maker:
    schemas: Mapping[str, FreeJson]

    def make(self, schema: FreeJson, name: str, depth: int) -> Any:
        if "$ref" in schema:
            return self.make(self.schemas[schema["$ref"].rpartition("/")[2]], name, depth)
        for fixed in ("const", "enum", "anyOf", "oneOf", "allOf"):
            if fixed in schema:
                return self._choose(fixed, schema, name, depth)
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema, name, depth)
        return self._list(schema, name, depth) if kind == "array" else _plain(kind, schema, name)

    def _choose(self, how: str, schema: FreeJson, name: str, depth: int) -> Any:
        if how == "const":
            return schema["const"]
        if how == "enum":
            word = WORDS.get(name)
            return word if word in schema["enum"] else schema["enum"][0]
        nullable = {"type": "null"} in schema[how]
        if nullable and depth >= _DEEPEST:
            return None
        return self.make(next(each for each in schema[how] if each != {"type": "null"}), name, depth)

    def _object(self, schema: FreeJson, name: str, depth: int) -> FreeJson:
        properties = schema.get("properties", {})
        shown = {*schema.get("required", ()), *(WORDS if depth == 0 else ())} & properties.keys()
        if depth == 0 and not shown:
            shown = properties.keys()
        members = {key: self.make(properties[key], key, depth + 1) for key in properties if key in shown}
        others = schema.get("additionalProperties")
        if not members and isinstance(others, dict) and others and depth < _DEEPEST:
            key = self.make({"type": "string", **schema.get("propertyNames", {})}, f"{name} name", depth)
            members[key] = self.make(others, name, depth + 1)
        return members

    def _list(self, schema: FreeJson, name: str, depth: int) -> list[Any]:
        if "prefixItems" in schema:
            return [self.make(each, name, depth + 1) for each in schema["prefixItems"]]
        items = schema.get("items") or {}
        least = schema.get("minItems", 0)
        if not items or (depth >= _DEEPEST and not least):
            return []
        return [self.make(items, name, depth + 1)] * max(1, least)


def _plain(kind: str | None, schema: FreeJson, name: str) -> Any:
    """A value without parts; `kind` is None for free JSON."""
    if kind in ("integer", "number"):
        return _number(schema, name, whole=kind == "integer")
    return _text(schema, name) if kind == "string" else {"boolean": True, "null": None}.get(kind or "", {})


def _text(schema: FreeJson, name: str) -> str:
    if schema.get("format") == "date-time":
        return _TIME
    if schema.get("format") == "uuid":
        return "0b8f6c1e-5d1a-4c57-9d5e-2f4b7f0a9c33"
    if schema.get("format") == "binary" or schema.get("contentEncoding") == "base64":
        return "ZXhhbXBsZQ=="
    least, most = schema.get("minLength", 0), schema.get("maxLength", 1 << 20)
    pattern = re.compile(schema.get("pattern", ""))
    fits = (each for each in (WORDS.get(name, "example"), *_FORMS) if least <= len(each) <= most)
    return next(each for each in fits if pattern.search(each))


def _number(schema: FreeJson, name: str, *, whole: bool) -> float:
    value = NUMBERS.get(name, 1)
    value = max(schema.get("minimum", value), min(schema.get("maximum", value), value))
    return int(value) if whole else value
