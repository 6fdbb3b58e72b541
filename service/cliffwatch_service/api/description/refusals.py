"""What each operation refuses: statuses with an example, each said once under `components/responses`."""

from collections.abc import Iterator, Mapping

import orjson

from cliffwatch.formats.values import FreeJson
from cliffwatch_service.access.authorisation import RIGHTS
from cliffwatch_service.http.context import too_many
from cliffwatch_service.http.problems import MEDIA_TYPE, ProblemDocument, invalid, problem_response
from cliffwatch_service.refusal import Refusal, not_found

_LIMIT = {"loc": ("query", "limit"), "msg": "Input should be less than or equal to 1000"}

EXAMPLES: Mapping[str, tuple[str, Refusal]] = {
    "400": (
        "The body cannot be read",
        Refusal(400, "no JSON", "the body is not valid JSON: unexpected end of data"),
    ),
    "401": (
        "No token, or one that is unknown, revoked or expired",
        Refusal(401, "token refused", "send a token as `Authorization: Bearer …`"),
    ),
    "403": (
        "The token may not do this, or the object is another's",
        Refusal(403, "not allowed", "token 'nightly' lacks the scope 'admin'"),
    ),
    "404": ("Nothing has this name", not_found("run", "b74006760fbdff636b92863541d0852a")),
    "408": (
        "The body came too slowly",
        Refusal(408, "body too slow", "a body must arrive at 16 KiB/s or more, in 60 s: send it again"),
    ),
    "409": (
        "It contradicts what is stored, or the name is ambiguous",
        Refusal(409, "several revisions", "several revisions begin with 9f1083c: give more digits"),
    ),
    "413": (
        "Too much to take, to store or to send",
        Refusal(413, "body too large", "a body may have 1048576 bytes here, before and after decompression"),
    ),
    "415": (
        "Another content type or encoding",
        Refusal(415, "unknown content type", "send the body as application/json"),
    ),
    "422": ("A parameter or a member is missing, unknown or not valid", invalid([_LIMIT])),
    "423": (
        "The host is in quarantine and there is no job that it may do",
        Refusal(423, "in quarantine", "rome-1 is in quarantine and gets no walltime job: …"),
    ),
    "429": ("Too many requests: `Retry-After` says how long to wait", too_many()),
    "501": (
        "The service lacks a part for this format",
        Refusal(501, "no Parquet here", "this service was installed without Parquet: ask for csv"),
    ),
    "503": (
        "The database is away, or the answer is being made: `Retry-After` says how long to wait",
        Refusal(503, "the comparison is being made", "ask again in 10 s", retry_after=10),
    ),
    "507": ("No room", Refusal(507, "no room", "the service has no room for an export: ask again later")),
    "default": (
        "The service failed",
        Refusal(
            500, "unforeseen", "the service failed: its log has the reason under this request's X-Request-Id"
        ),
    ),
}
"""Each status with its meaning and a refusal of that kind."""

_OPEN = ("GET /healthz", "GET /readyz")

_EXPORT = "GET /api/v1/runs/{run}/export"

_MORE: Mapping[str, tuple[str, ...]] = {
    "403": ("POST /api/v1/github/token",),
    "404": (
        "GET /api/v1/answer",
        "GET /api/v1/comparisons",
        "GET /api/v1/runs",
        "POST /api/v1/planted-steps",
    ),
    "409": (
        "GET /api/v1/answer",
        "GET /api/v1/comparisons",
        "GET /api/v1/comparisons/{pair}",
        "GET /api/v1/revisions/{commit}",
        "GET /api/v1/runs",
        "GET /api/v1/series/{digest}/samples",
        "POST /api/v1/follows/{follow}/backfill",
        "POST /api/v1/hosts/{host}/calibrations",
        "POST /api/v1/hosts/{host}/calibrations/check",
        "POST /api/v1/hosts/{host}/quarantine",
        "POST /api/v1/github/token",
        "POST /api/v1/imports",
        "POST /api/v1/jobs/{job}/retry",
        "POST /api/v1/leases/{lease}/complete",
        "POST /api/v1/leases/{lease}/events",
        "POST /api/v1/leases/{lease}/heartbeat",
        "POST /api/v1/offers",
        "POST /api/v1/planted-steps",
        "POST /api/v1/requests",
        "POST /api/v1/subscriptions",
        "POST /api/v1/tokens",
        "PUT /api/v1/runs/{run}",
        "PUT /api/v1/runs/{run}/boots/{number}",
        "PUT /api/v1/runs/{run}/boots/{number}/raw",
        "PUT /api/v1/runs/{run}/code",
    ),
    "413": (_EXPORT,),
    "423": ("POST /api/v1/offers",),
    "501": (_EXPORT,),
    "503": ("GET /readyz",),
    "507": (_EXPORT,),
}
"""Operations refused with a status that does not follow from their right, path and body."""


def statuses_of(operation: str, *, has_body: bool) -> tuple[str, ...]:
    """Returns the statuses that an operation can be refused with. `operation`: method and path template."""
    more = (status for status, operations in _MORE.items() if operation in operations)
    return tuple(sorted({*more, *_general(operation, has_body=has_body)}))


def _general(operation: str, *, has_body: bool) -> Iterator[str]:
    yield "default"
    if operation in _OPEN:
        return
    yield from ("401", "429", "503")
    if RIGHTS[operation].scope is not None:
        yield "403"
    if "/api/" in operation:
        yield "422"
    if "{" in operation:
        yield "404"
    if has_body:
        yield from ("400", "408", "413", "415")


def name_of(status: str) -> str:
    """Returns the name of a shared error answer."""
    return "Problem" if status == "default" else f"Problem{status}"


def responses() -> FreeJson:
    """Returns the shared error answers by name, for `components/responses`."""
    schema = {"$ref": f"#/components/schemas/{ProblemDocument.__name__}"}
    return {
        name_of(status): {
            "description": meaning,
            "content": {
                MEDIA_TYPE: {
                    "schema": schema,
                    "example": orjson.loads(bytes(problem_response(refusal).body)),
                }
            },
        }
        for status, (meaning, refusal) in EXAMPLES.items()
    }
