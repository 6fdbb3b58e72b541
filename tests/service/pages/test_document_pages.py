"""The documents as pages, and what robots and language models read."""

import re
from pathlib import Path
from typing import Any

import pytest
from service_running import Running

DOCS = Path(__file__).parents[3] / "docs"
NAMES = sorted(file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md"))


def test_documents_lead_to_each_other_and_to_their_headings(demonstration: Running) -> None:
    with demonstration.http(None) as http:
        pages = {f"/docs/{name}": http.get(f"/docs/{name}") for name in NAMES}
        pages["/docs"] = http.get("/docs")
        assert {name for name, page in pages.items() if page.status_code != 200} == set()
        ids = {name: set(re.findall(r' id="([^"]+)"', page.text)) for name, page in pages.items()}
        broken = []
        for name, page in pages.items():
            for link in re.findall(r'(?:href|src)="(/docs[^"]*|#[^"]*)"', page.text.partition("<main")[2]):
                target, _, anchor = link.partition("#")
                if (target and target not in pages and http.get(target).status_code != 200) or (
                    anchor and anchor not in ids.get(target or name, {anchor})
                ):
                    broken.append((name, link))
    assert broken == []


@pytest.mark.parametrize(
    "name", ["../README", "%2e%2e/pyproject.toml", "nothing", "decisions", "/etc/passwd"]
)
def test_nothing_but_documents_is_served(demonstration: Running, name: str) -> None:
    with demonstration.http(None) as http:
        assert http.get(f"/docs/{name}").status_code == 404


def test_a_document_reads_well(opened: Any) -> None:
    page = opened("/docs/glossary")
    assert page.locator("h1").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_every_page_leads_to_documents_and_announces_the_feed(demonstration: Running) -> None:
    with demonstration.http(None) as http:
        page = http.get("/").text
        (feed,) = re.findall(r'<link rel="alternate" type="application/atom\+xml"[^>]* href="([^"]+)"', page)
        assert feed.startswith(demonstration.service.settings.pages_url)
        assert http.get(feed.removeprefix(demonstration.service.settings.pages_url)).status_code == 200
    assert 'href="/docs"' in page
    assert 'href="/docs/glossary.md"' in page


def test_what_robots_and_language_models_read_names_addresses_that_answer(demonstration: Running) -> None:
    with demonstration.http(None) as http:
        assert "Disallow: /api/" in http.get("/robots.txt").text
        llms = http.get("/llms.txt").text
        pages_url = demonstration.service.settings.pages_url
        for address in re.findall(r"\]\(([^)]+)\)", llms):
            path = address.removeprefix(pages_url).replace("COMMIT", "e975db19874b").replace("WORDS", "map")
            assert http.get(path).status_code == 200, address


def test_every_page_answers_head(demonstration: Running) -> None:
    with demonstration.http(None) as http:
        for path in ("/", "/docs", "/series", "/robots.txt", "/api/v1/runs", "/healthz"):
            answer = http.head(path)
            assert (answer.status_code, answer.content) == (200, b""), path


def test_the_api_s_document_links_its_description(running: Running) -> None:
    with running.http(None) as http:
        assert '<a href="/api/v1/openapi.json"><code>' in http.get("/docs/api.md").text
