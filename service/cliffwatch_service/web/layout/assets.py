"""Style sheets, scripts and images.

Their URLs contain a digest of the content, so browsers may cache them forever.
"""

from functools import cache
from importlib import resources

from fastapi import APIRouter
from fastapi.responses import Response

from cliffwatch.identities import digest_of
from cliffwatch_service.refusal import not_found

KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

router = APIRouter(include_in_schema=False)


@cache
def _files() -> dict[str, tuple[bytes, str, str]]:
    """Returns content, media type and digest by file name."""
    folder = resources.files("cliffwatch_service.web") / "static"
    files = {}
    for file in folder.iterdir():
        kind = next((kind for suffix, kind in KINDS.items() if file.name.endswith(suffix)), None)
        if kind is not None:
            content = file.read_bytes()
            files[file.name] = (content, kind, digest_of(content.decode()))
    return files


def asset(name: str) -> str:
    """Returns the URL path of a file in static/. Raises KeyError if there is no such file."""
    return f"/static/{_files()[name][2][:12]}/{name}"


def read_text(name: str) -> str:
    """Returns the content of a file in static/. Raises KeyError if there is no such file."""
    return _files()[name][0].decode()


@router.get("/static/{digest}/{name}")
def read_asset(digest: str, name: str) -> Response:
    if name not in _files() or not _files()[name][2].startswith(digest):
        raise not_found("file", name)
    content, kind, _ = _files()[name]
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    return Response(content, media_type=kind, headers=headers)


@router.get("/favicon.ico")
def read_favicon() -> Response:
    """Serves the icon that browsers request without a link."""
    return Response(
        _files()["favicon.svg"][0], media_type=KINDS[".svg"], headers={"Cache-Control": "max-age=86400"}
    )
