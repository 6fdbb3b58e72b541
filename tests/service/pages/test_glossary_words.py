"""Words on pages lead to the glossary: one list, whose every word is explained there and is on some page."""

import re
from pathlib import Path

import pytest
from service_running import Running

from cliffwatch_service import web
from cliffwatch_service.web.layout.render import GLOSSARY, TERMS, Terms

TEMPLATES = Path(web.__file__).parent / "templates"


def test_every_word_has_its_row_in_the_glossary(running: Running) -> None:
    with running.http(None) as http:
        rows = re.findall(r'<tr id="([^"]+)">', http.get(GLOSSARY).text)
    assert len(rows) == len(set(rows))
    assert {anchor for anchor, _ in TERMS.values()} <= set(rows)


def test_the_pages_link_the_words_of_the_list_and_no_others() -> None:
    text = "".join(file.read_text() for file in TEMPLATES.rglob("*.html"))
    linked = set(re.findall(r'\bterm\("([^"]+)"', text))
    assert linked <= TERMS.keys()
    assert TERMS.keys() - linked <= {"icount", "walltime"}
    assert "term.known(" in text


def test_a_word_is_linked_once_on_a_page() -> None:
    term = Terms()
    first = term("boots")
    assert first.startswith('<a class="term" href="/docs/glossary.md#boot" title="starts of')
    assert first.endswith(">boots</a>")
    assert term("boots", "Boots") == "Boots"
    assert term.known("<b>") == "<b>"


@pytest.mark.parametrize("path", ["/runs", "/series", "/branches", "/hosts", "/compare"])
def test_pages_with_words_need_no_script_to_explain_them(path: str, running: Running) -> None:
    with running.http(None) as http:
        for link in re.findall(r'<a class="term" ([^>]*)>', http.get(path).text):
            assert re.fullmatch(r'href="/docs/glossary\.md#[\w-]+" title="[^"]+"', link)


def test_pages_say_what_users_understand() -> None:
    """The words left here puzzled users (docs/glossary.md keeps them for programs and settings)."""
    for file in TEMPLATES.rglob("*.html"):
        markup = re.sub(r"{[{%#].*?[}%#]}", " ", file.read_text(), flags=re.DOTALL)
        text = re.sub(r"<[^>]*>", " ", markup)
        assert not re.findall(
            r"\b(?:detectable|A/A|anchors?|epochs?|candidates?|afresh|repeatability)\b", text, re.IGNORECASE
        ), file
