"""Every operation of the API's description has examples and says how it refuses, and both are true."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from service_running import Running

from cliffwatch_service.api.description.complete import BINARY
from cliffwatch_service.api.description.refusals import EXAMPLES

JSON = ("application/json", "application/problem+json")


@pytest.fixture
def description(running: Running) -> Any:
    return running.get("/openapi.json")


def operations(description: Any) -> Iterator[tuple[str, Any]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def contents(description: Any) -> Iterator[tuple[str, str, Any]]:
    """Every body and answer: its place, its media type and its content."""
    for name, operation in operations(description):
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{name} body", kind, content
        for status, answer in operation["responses"].items():
            for kind, content in answer.get("content", {}).items():
                yield f"{name} {status}", kind, content
    for name, answer in description["components"]["responses"].items():
        for kind, content in answer["content"].items():
            yield name, kind, content


def test_every_body_and_answer_has_an_example(description: Any) -> None:
    lacking = [
        f"{place} {kind}"
        for place, kind, content in contents(description)
        if kind not in BINARY and not content.get("example")
    ]
    assert not lacking


def test_every_example_fits_its_schema(description: Any) -> None:
    for place, kind, content in contents(description):
        if kind not in JSON or "schema" not in content:
            continue
        schema = {**content["schema"], "components": description["components"]}
        try:
            jsonschema.validate(content["example"], schema, format_checker=jsonschema.FormatChecker())
        except jsonschema.ValidationError as error:
            pytest.fail(f"{place}: {error.message} at {error.json_path}")


def test_every_operation_says_how_it_refuses(description: Any) -> None:
    for name, operation in operations(description):
        refused = {status for status in operation["responses"] if not status.startswith("2")}
        assert "default" in refused, name
        if "/api/" in name:
            assert {"401", "422", "429", "503"} <= refused, name
        if operation.get("requestBody"):
            assert {"400", "413", "415"} <= refused, name
        assert refused <= EXAMPLES.keys(), name


def test_refusals_are_as_described(running: Running, description: Any) -> None:
    """Asks each operation without a token, with an unknown one, for what is not there and wrongly."""
    example = {
        "pair": "1234567...7654321",
        "commit": "1234567",
        "number": "1",
        "path": "x",
        "name": "no-such",
    }
    problem = {
        **description["components"]["responses"]["Problem"]["content"][JSON[1]]["schema"],
        "components": description["components"],
    }
    seen = set()
    for name, operation in operations(description):
        method, _, path = name.partition(" ")
        for each in operation.get("parameters", ()):
            if each["in"] == "path":
                kind = each["schema"].get("type")
                value = "999" if kind == "integer" else example.get(each["name"], "0" * 32)
                path = path.replace(f"{{{each['name']}}}", value)
        content = operation.get("requestBody", {}).get("content", {})
        body = {"json": content["application/json"]["example"]} if "application/json" in content else {}
        for scope, parameters in ((None, {}), ("admin", {}), ("admin", {"no-such": "1"})):
            with running.http(scope) as http:
                answer = http.request(method, path, params=parameters, **body)
            if answer.status_code < 400:
                continue
            seen.add(answer.status_code)
            assert str(answer.status_code) in operation["responses"], (name, answer.text)
            jsonschema.validate(answer.json(), problem)
    assert {401, 404, 415, 422} <= seen


def test_the_description_stays_small(description: Any) -> None:
    text = json.dumps(description).encode()
    assert len(text) < 300_000
    assert len(gzip.compress(text, 1)) < 60_000
