"""What GitHub's OpenAPI description says: which operation a request is of, what is wrong with it, how it is
answered.
"""

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, unquote

from jsonschema import Draft4Validator, FormatChecker

from github_stand_in.installed import octokit

_METHODS = ("get", "post", "put", "patch", "delete")
_ACCEPTED = re.compile(
    r"application/(vnd\.github(\.v3)?(\.(raw|text|html|full|diff|patch|object))?(\+json)?|json)|\*/\*"
)
_VERSIONS = ("2022-11-28", "2026-03-10")


@dataclass(frozen=True)
class Asked:
    """A request as it came; header names in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Operation:
    """One operation of the description: `name` is its operationId, `template` its path, `content` what is
    said of it.
    """

    name: str
    template: str
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Read:
    """A request as the operation reads it: parameters in their types, the body's JSON."""

    operation: Operation
    path: Mapping[str, Any]
    query: Mapping[str, Any]
    body: Any


class Description:
    """The description. One is enough for a process: it is only read."""

    def __init__(self) -> None:
        self._whole = json.loads((octokit() / "openapi/generated/api.github.com.json").read_text())
        self._operations = [
            (method.upper(), _expression(template), Operation(content["operationId"], template, content))
            for template, methods in self._whole["paths"].items()
            for method, content in methods.items()
            if method in _METHODS
        ]

    def read(self, asked: Asked) -> tuple[Read | None, list[str]]:
        """The request of its operation, and everything that the description does not allow of it."""
        found = [
            (match, operation)
            for method, expression, operation in self._operations
            if method == asked.method and (match := expression.fullmatch(asked.path))
        ]
        if not found:
            return None, [f"{asked.method} {asked.path}: no such operation"]
        match, operation = min(found, key=lambda each: each[1].template.count("{"))
        wrong: list[str] = []
        path = {name: unquote(value) for name, value in match.groupdict().items()}
        parameters = [self.resolved(each) for each in operation.content.get("parameters", [])]
        typed = {each["name"]: each["schema"] for each in parameters if each["in"] == "path"}
        path = {
            name: self._value(typed.get(name, {}), value, f"path {name}", wrong)
            for name, value in path.items()
        }
        query = self._query(parameters, asked.query, wrong)
        wrong += _headers(asked)
        body = self._body(operation, asked, wrong)
        return Read(operation, path, query, body), [f"{operation.name}: {each}" for each in wrong]

    def _query(self, parameters: list[Any], text: str, wrong: list[str]) -> dict[str, Any]:
        known = {each["name"]: each for each in parameters if each["in"] == "query"}
        given = dict(parse_qsl(text, keep_blank_values=True))
        wrong += [f"query parameter {name} is not known" for name in given if name not in known]
        wrong += [
            f"query parameter {name} is missing"
            for name in known
            if known[name].get("required") and name not in given
        ]
        values = {
            name: each["schema"]["default"]
            for name, each in known.items()
            if "default" in each.get("schema", {})
        }
        for name in given.keys() & known.keys():
            values[name] = self._value(known[name]["schema"], given[name], f"query {name}", wrong)
        if not 1 <= values.get("per_page", 1) <= 100:
            wrong.append("per_page must be from 1 to 100")
        return values

    def _value(self, schema: Any, text: str, where: str, wrong: list[str]) -> Any:
        schema = self.inlined(schema)
        value: Any = text
        if schema.get("type") == "integer" and re.fullmatch(r"-?\d+", text):
            value = int(text)
        elif schema.get("type") == "boolean" and text in ("true", "false"):
            value = text == "true"
        wrong += [f"{where}: {each.message[:200]}" for each in _validator(schema).iter_errors(value)]
        return value

    def _body(self, operation: Operation, asked: Asked, wrong: list[str]) -> Any:
        said = self.resolved(operation.content.get("requestBody"))
        if not asked.body:
            if said and said.get("required"):
                wrong.append("the body is missing")
            return {}
        if said is None:
            wrong.append("it takes no body")
            return {}
        if "application/json" not in asked.headers.get("content-type", ""):
            wrong.append("the body's content-type is not application/json")
        try:
            body = json.loads(asked.body)
        except ValueError:
            wrong.append("the body is no JSON")
            return {}
        schema = self.inlined(said["content"]["application/json"]["schema"])
        errors = _validator(schema).iter_errors(body)
        wrong += [f"body {'/'.join(map(str, each.absolute_path))}: {each.message[:300]}" for each in errors]
        known = _properties(schema)
        if isinstance(body, dict) and known:
            wrong += [f"body: property {name} is not known" for name in body if name not in known]
        return body

    def example(self, operation: Operation, status: int, name: str | None = None) -> Any:
        """A copy of the published example of an answer; an empty object where there is none."""
        answer = self.resolved(operation.content["responses"].get(str(status), {}))
        content = answer.get("content", {}).get("application/json", {})
        examples = content.get("examples", {})
        if not examples:
            return copy.deepcopy(content.get("example", {}))
        return copy.deepcopy(self.resolved(examples[name or next(iter(examples))])["value"])

    def user(self, login: str) -> Any:
        """The published user, under this login."""
        return {**self._whole["components"]["examples"]["issue-comment"]["value"]["user"], "login": login}

    def answers(self, operation: Operation) -> set[int]:
        """The statuses that the operation says it answers with."""
        return {int(each) for each in operation.content["responses"] if each.isdigit()}

    def answer_errors(self, operation: Operation, status: int, answer: Any) -> set[str]:
        """What is wrong with an answer by its schema, but for what is wrong with the published examples of it
        too.
        """
        said = self.resolved(operation.content["responses"].get(str(status), {})).get("content", {})
        schema = self.inlined(said.get("application/json", {}).get("schema", {}))
        names = said.get("application/json", {}).get("examples", {})
        published = [_errors(schema, self.example(operation, status, name)) for name in names]
        return _errors(schema, answer) - set[str]().union(*published)

    def resolved(self, part: Any) -> Any:
        """What a reference names; anything else as it is."""
        while isinstance(part, dict) and "$ref" in part:
            target = self._whole
            for name in part["$ref"].removeprefix("#/").split("/"):
                target = target[name]
            part = target
        return part

    def inlined(self, schema: Any, seen: tuple[str, ...] = ()) -> Any:
        """A schema without references, as JSON Schema reads it: `nullable` becomes a type.
        Circles are cut.
        """
        if isinstance(schema, list):
            return [self.inlined(each, seen) for each in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            name = schema["$ref"]
            return {} if name in seen else self.inlined(self.resolved(schema), (*seen, name))
        plain = {
            key: self.inlined(value, seen)
            for key, value in schema.items()
            if key not in ("example", "examples", "description")
        }
        if plain.pop("nullable", False) is True:
            return {"anyOf": [plain, {"enum": [None]}]}
        return plain


@cache
def description() -> Description:
    return Description()


def _expression(template: str) -> re.Pattern[str]:
    """A path of the description as an expression; the last parameter of contents and refs may
    hold slashes.
    """
    parts = re.split(r"\{([^}]+)\}", template)
    slashes = {"path", "ref"} if template.endswith(("/contents/{path}", "/git/ref/{ref}")) else set()
    return re.compile(
        "".join(
            (
                f"(?P<{part.replace('-', '_')}>{'.+' if part in slashes else '[^/]+'})"
                if index % 2
                else re.escape(part)
            )
            for index, part in enumerate(parts)
        )
    )


def _headers(asked: Asked) -> list[str]:
    wrong = []
    accept = asked.headers.get("accept", "*/*")
    if not any(_ACCEPTED.fullmatch(each.split(";")[0].strip()) for each in accept.split(",")):
        wrong.append(f"accept {accept} is none of GitHub's media types")
    if not asked.headers.get("user-agent"):
        wrong.append("there is no user-agent")
    if asked.headers.get("x-github-api-version", _VERSIONS[0]) not in _VERSIONS:
        wrong.append("x-github-api-version is not known")
    return wrong


def _properties(schema: Any) -> set[str]:
    names = set(schema.get("properties", {}))
    for kind in ("oneOf", "anyOf", "allOf"):
        for each in schema.get(kind, []):
            names |= _properties(each)
    return names


def _validator(schema: Any) -> Draft4Validator:
    return Draft4Validator(schema, format_checker=FormatChecker())


def _errors(schema: Any, content: Any) -> set[str]:
    """By the places of the schema, so that what is wrong with one item of a list is the same for
    every item.
    """
    errors = _validator(schema).iter_errors(content)
    return {
        (
            f"{'/'.join(map(str, each.absolute_schema_path))} ({each.message[-120:]})"
            if each.validator == "required"
            else "/".join(map(str, each.absolute_schema_path))
        )
        for each in errors
    }
