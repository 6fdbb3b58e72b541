"""The Atom feeds: valid, with identities that stay, and answered with nothing where nothing is new."""

import re
from datetime import datetime
from email.utils import format_datetime, parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree as ET

import httpx2
from news_world import BACK, TREE, WORSE

ATOM = "{http://www.w3.org/2005/Atom}"
ONCE = {"feed": ("id", "title", "updated"), "entry": ("id", "title", "updated", "summary")}
KNOWN = {
    "feed": {"id", "title", "updated", "link", "generator", "author", "entry"},
    "entry": {"id", "title", "updated", "published", "link", "category", "summary"},
}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
TAG = re.compile(r"tag:[a-z0-9.-]+,\d{4}(-\d\d(-\d\d)?)?:[\w/-]+")


def get(world: Any, headers: dict[str, str] | None = None, **query: str) -> httpx2.Response:
    with world.running.http(None) as http:
        return http.get("/api/v1/feed", params=query, headers=headers or {})


def entries(content: bytes) -> list[ET.Element]:
    return ET.fromstring(content).findall(f"{ATOM}entry")


def text(element: ET.Element, name: str) -> str:
    found = element.find(f"{ATOM}{name}")
    assert found is not None
    assert found.text
    return found.text


def check(content: bytes) -> None:
    """RFC 4287: 4.1.1 (feed), 4.1.2 (entry), 4.2.6 (id), 3.3 (dates), 4.2.7 (links)."""
    feed = ET.fromstring(content)
    assert feed.tag == f"{ATOM}feed"
    for name, element in [("feed", feed), *[("entry", each) for each in feed.findall(f"{ATOM}entry")]]:
        children = [child.tag.removeprefix(ATOM) for child in element]
        assert set(children) <= KNOWN[name]
        for one in ONCE[name]:
            assert children.count(one) == 1, (name, one)
        assert TAG.fullmatch(text(element, "id"))
        assert MOMENT.fullmatch(text(element, "updated"))
        links = [(link.get("rel"), link.get("type")) for link in element.findall(f"{ATOM}link")]
        assert len(links) == len(set(links))
        assert ("alternate", "text/html") in links
        assert all(link.get("href", "").startswith("https://") for link in element.findall(f"{ATOM}link"))
    assert feed.find(f"{ATOM}author/{ATOM}name") is not None
    assert ("self", "application/atom+xml") in [
        (each.get("rel"), each.get("type")) for each in feed.findall(f"{ATOM}link")
    ]
    identities = [text(each, "id") for each in [feed, *feed.findall(f"{ATOM}entry")]]
    assert len(identities) == len(set(identities))
    moments = [text(each, "updated") for each in feed.findall(f"{ATOM}entry")]
    assert moments == sorted(moments, reverse=True)
    assert text(feed, "updated") == max(moments, default=text(feed, "updated"))


def test_feeds_are_valid_and_their_identities_stay(world: Any) -> None:
    world.follow()
    empty = get(world)
    assert empty.headers["content-type"].startswith("application/atom+xml")
    check(empty.content)
    assert entries(empty.content) == []
    world.measure("r0", "r1", WORSE)
    first = get(world)
    check(first.content)
    (one,) = entries(first.content)
    world.running.clock.pass_(hours=1)
    world.measure("r1", "r2", BACK, seed=2)
    second = get(world)
    check(second.content)
    fixed, again = entries(second.content)
    assert text(again, "id") == text(one, "id")
    assert ET.tostring(again) == ET.tostring(one)
    assert text(fixed, "title").startswith("Fixed: bpf: r1")
    assert text(ET.fromstring(second.content), "id") == text(ET.fromstring(empty.content), "id")


def test_a_branch_and_a_suite_have_feeds_of_their_own(world: Any) -> None:
    world.follow()
    world.running.follow(TREE, "other", ["7" * 40])
    world.measure("r0", "r1", WORSE)
    feeds = [
        get(world),
        get(world, tree=TREE, branch="master"),
        get(world, tree=TREE, branch="other"),
        get(world, suite="local-storage"),
        get(world, suite="string-maps"),
    ]
    for each in feeds:
        check(each.content)
    assert [len(entries(each.content)) for each in feeds] == [1, 1, 0, 1, 0]
    assert len({text(ET.fromstring(each.content), "id") for each in feeds}) == 5
    assert get(world, tree=TREE, branch="none").status_code == 404
    assert get(world, branch="master").status_code == 422


def test_who_has_it_already_gets_nothing(world: Any) -> None:
    world.follow()
    world.measure("r0", "r1", WORSE)
    first = get(world)
    tag, changed = first.headers["etag"], first.headers["last-modified"]
    assert isinstance(parsedate_to_datetime(changed), datetime)
    assert get(world, {"If-None-Match": tag}).status_code == 304
    assert get(world, {"If-Modified-Since": changed}).status_code == 304
    before = format_datetime(parsedate_to_datetime(changed).replace(year=2025), usegmt=True)
    assert get(world, {"If-Modified-Since": before}).status_code == 200
    assert get(world, {"If-Modified-Since": "yesterday"}).status_code == 200
    assert get(world, {"If-None-Match": '"another"', "If-Modified-Since": changed}).status_code == 200
    world.running.clock.pass_(hours=1)
    world.measure("r1", "r2", BACK, seed=2)
    assert get(world, {"If-None-Match": tag}).status_code == 200
    assert get(world, {"If-Modified-Since": changed}).status_code == 200


def test_what_a_commit_says_cannot_break_a_feed(world: Any) -> None:
    world.follow()
    world.measure("r0", "r1", WORSE)
    with world.running.service.transaction() as connection:
        connection.execute("UPDATE news SET subject = %s", ["<script>&]]>\u202e \x0b\x1b[31m \ufffe"])
    content = get(world).content
    check(content)
    assert b"<script" not in content
