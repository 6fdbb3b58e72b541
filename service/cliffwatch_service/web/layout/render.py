"""Renders pages: templates, the globals and filters they share, and security headers."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlencode, urlsplit

from fastapi import Request
from fastapi.responses import Response
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from cliffwatch.comparing.comparison import BETWEEN_MEASUREMENTS
from cliffwatch.comparing.thresholds import MEAN_LEVEL
from cliffwatch.counting import count_noun, size_text
from cliffwatch.reports import figures
from cliffwatch.reports.styles import visible
from cliffwatch.stats.published_size import LEVEL
from cliffwatch.trees.addresses import without_credentials
from cliffwatch_service.history.change_words import change_words
from cliffwatch_service.history.report_summary import is_confirmed, is_counted
from cliffwatch_service.http.conditional import cached
from cliffwatch_service.http.context import Service
from cliffwatch_service.web.layout.assets import asset, read_text
from cliffwatch_service.web.layout.session import Visitor, own_address
from cliffwatch_service.web.layout.wording import (
    ago,
    clock_time,
    format_duration,
    interval_words,
    mark,
    mark_commands,
    parameters,
    shorten_commit,
    tone,
)

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_COMMIT_PAGES = (
    (
        re.compile(r"(?:https?|git|ssh)://(?:git@)?github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?"),
        "https://github.com/{}/commit/{}",
    ),
    (
        re.compile(r"(?:https?|git)://git\.kernel\.org/(pub/scm/[\w./-]+?\.git)/?"),
        "https://git.kernel.org/{}/commit/?id={}",
    ),
)


def commit_page(tree: str | None, commit: str) -> str | None:
    """Returns the URL of a commit's web page; None for hosts other than GitHub and git.kernel.org."""
    for pattern, address in _COMMIT_PAGES:
        match = pattern.fullmatch(tree or "")
        if match and _COMMIT.fullmatch(commit):
            return address.format(match.group(1), commit)
    return None


HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "private, no-cache",
    "Vary": "Accept, Cookie, HX-Request",
}
"""Only our own scripts, styles and images; no requests to other hosts; no framing by other sites."""


_PICTURE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
"""Nothing but the picture's own style sheet; other sites may show it."""

_NOT_XML = re.compile("[\ufffe\uffff]")
"""Characters that `visible` keeps and XML does not allow."""


def _hide_credentials(value: Any) -> Any:
    """Removes credentials from a URL. Old rows have some: uploads with credentials were once accepted."""
    return without_credentials(value) if type(value) is str else value


@cache
def _templates() -> Environment:
    environment = Environment(
        loader=PackageLoader("cliffwatch_service.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        finalize=_hide_credentials,
    )
    environment.globals |= {
        "asset": asset,
        "commit_page": commit_page,
        "counted": count_noun,
        "is_confirmed": is_confirmed,
        "query": query,
        "mark": mark,
        "measure": figures.measure,
        "between_measurements": BETWEEN_MEASUREMENTS,
        "tone": tone,
        "mean_interval": interval_words(MEAN_LEVEL),
    }
    environment.filters |= {
        "percent": figures.percent,
        "change_word": lambda change: figures.verdict_in_words(change.kind, [change.unit]),
        "change_words": change_words,
        "size": figures.size,
        "value": figures.value,
        "ago": ago,
        "bytes_size": size_text,
        "clock_time": clock_time,
        "commands": mark_commands,
        "change_interval": lambda change: interval_words(None if is_counted(change) else LEVEL),
        "lasting": format_duration,
        "parameters": parameters,
        "short": shorten_commit,
    }
    return environment


def compile_templates() -> None:
    """Compiles all templates at start, so that no visitor waits for it."""
    for name in _templates().list_templates():
        _templates().get_template(name)


def query(given: Mapping[str, object], **changed: object) -> str:
    """Returns a query string from parameters and changes to them, without empty values and credentials."""
    given_values = {**given, **changed}.items()
    text = urlencode(
        {name: _hide_credentials(value) for name, value in given_values if value not in (None, "")}
    )
    return f"?{text}" if text else ""


def _here(request: Request) -> str:
    """Returns the page to show after sign-in: this page, or the page that posted the form."""
    if request.method != "GET":
        return own_address(urlsplit(request.headers.get("referer", "")).path)
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


def render_drawing(template: str, **content: Any) -> str:
    """Renders an SVG template. `content` has its variables."""
    return visible(_templates().get_template(template).render(**content))


def page(
    request: Request,
    visitor: Visitor,
    template: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] = {},
    **content: Any,
) -> Response:
    """Renders a template. `content` has its variables. Relative times use the service's clock."""
    service: Service = request.app.state.service
    path = request.url.path
    html = visible(
        _templates()
        .get_template(template)
        .render(
            visitor=visitor,
            now=service.now(),
            demonstration=service.demonstration(),
            public=service.settings.public_reading,
            pages_url=service.settings.pages_url,
            path=path,
            here=_here(request),
            term=Terms(),
            **content,
        )
    )
    return Response(html, status, headers={**HEADERS, **headers}, media_type="text/html; charset=utf-8")


def render_svg(template: str, **content: Any) -> str:
    svg = visible(_templates().get_template(template).render(colours=read_text("picture.css"), **content))
    return _NOT_XML.sub("?", svg)


def picture(request: Request, template: str, **content: Any) -> Response:
    """Renders a template as SVG with its colours inside. Browsers may keep it for five minutes."""
    service: Service = request.app.state.service
    public = "public" if service.settings.public_reading else "private"
    return cached(
        request,
        render_svg(template, **content).encode(),
        "image/svg+xml",
        {**_PICTURE_HEADERS, "Cache-Control": f"{public}, max-age=300"},
    )


GLOSSARY = "/docs/glossary.md"

TERMS: Mapping[str, tuple[str, str]] = {
    "base vs base check": ("control", "base measured against itself: how no change looks on this host"),
    "boots": ("boot", "starts of a guest: what is repeated"),
    "case": ("case", "a benchmark with its parameters"),
    "culprit": ("culprit", "the commit that made a change, or the range in which it is"),
    "environment changed": ("epoch", "another host, guest or toolchain: nothing is comparable across it"),
    "fixed reference kernel": ("anchor", "measured beside base and head: what moves in it is the host"),
    "icount": ("mode", "instructions, counted in emulation: exact on any machine, blind to caches"),
    "interval": ("run-to-run-noise", "where the change lies, or by what equal kernels differ"),
    "matched layouts": ("matched-layout", "head, with its unchanged functions where base has them"),
    "metric": ("metric", "what a case measures"),
    "platform": ("platform", "a kind of machine: numbers of two are never compared"),
    "smallest change this could see": (
        "detectable-change",
        "what these boots would have shown; a smaller one may be there",
    ),
    "suspected changes": ("candidate", "what looks like a change and waits for fresh boots"),
    "target": ("target", "a platform and a mode: where numbers can be compared"),
    "threshold": ("threshold", "the smallest change that is reported"),
    "verdict": ("verdict", "what a comparison says of one case"),
    "walltime": ("mode", "real time on a tuned host under KVM: what users feel, and noisy"),
}
"""By word: the anchor of its row in the glossary, and what a tooltip says."""


class Terms:
    """Links words to the glossary: each once on a page."""

    def __init__(self) -> None:
        self._linked: set[str] = set()

    def __call__(self, word: str, text: str | None = None) -> Markup:
        """Returns the word (or `text`): the first time as a link to the glossary. Raises KeyError."""
        anchor, about = TERMS[word]
        if word in self._linked:
            return Markup("{}").format(text or word)
        self._linked.add(word)
        return Markup('<a class="term" href="{}#{}" title="{}">{}</a>').format(
            GLOSSARY, anchor, about, text or word
        )

    def known(self, word: str) -> Markup | str:
        """Links a word that may be none of the glossary's, such as a mode."""
        return self(word) if word in TERMS else word
