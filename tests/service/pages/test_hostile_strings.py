"""Every string that a kernel developer, a host or a benchmark can put in, hostile, on every page that shows
any.
"""

import io
import re
import tarfile
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from browsing import sign_in
from github_html import shown
from service_running import Running
from service_runs import arm_of, boots_of, commit_of, record_digest, record_of, run_of

EVIL = (
    "\"'><img src=x"
    " onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>{{7*191}}</pre></svg>"
)
"""Ends every attribute, element and script that it may stand in."""

TREE = "https://git.example.org/" + EVIL.replace(" ", "+")


def archive(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            tar.addfile(member, io.BytesIO(content.encode()))
    return buffer.getvalue()


def hostile_run() -> tuple[Any, str]:
    """A run in which every string is evil, and its digest."""
    made = run_of(boots=8, cases=6, shift=0.1, parents={"head": ["base"]}, host=f"host {EVIL}"[:200])
    record = made.record
    for arm in record["arms"]:
        name = arm["name"]
        arm["label"] = f"{name} {EVIL}"
        arm["facts"] |= {
            "subject": f"subject {EVIL}",
            "author": f"author {EVIL}",
            "release": f"{name} {EVIL}",
        }
    record |= {"notes": [EVIL], "tree": TREE, "guest": {"cpus": 4, EVIL: EVIL}}
    record |= {"toolchain": {"gcc": EVIL, EVIL: EVIL}, "host": {"cpu": {"model_name": EVIL}}}
    for case in record["plan"]["cases"]:
        case |= {"suite": "discovered", "benchmark": f"bench {EVIL}", "argv": [EVIL]}
        case["params"] = {f"name {EVIL}": f"{case['params'].popitem()[1]} {EVIL}"}
    return made, record_digest(record, made.host)


def hostile_boot(body: dict[str, Any]) -> dict[str, Any]:
    splat = {"title": EVIL, "text": EVIL, "case": EVIL, "panic": True}
    part = {"status": "panic", "seconds": 1.0, "last_case": EVIL, "evidence": EVIL, "splats": [splat]}
    body["boot"]["parts"] = [part]
    for each in (*body["samples"], *body["outcomes"]):
        each["benchmark"] = f"bench {EVIL}"
    body["outcomes"][-1] |= {"status": "failed", "reason": EVIL}
    samples = [{**each, "metric": f"metric {EVIL}"} for each in body["samples"]]
    return {**body, "environment": {EVIL: EVIL}, "samples": samples}


def upload_hostile(http: Any) -> None:
    made, digest = hostile_run()
    http.put(f"/api/v1/runs/{digest}", json=record_of(made)).raise_for_status()
    files = {f"1/dmesg {EVIL.replace('/', '|')}": f"[    1.0] BUG: {EVIL}\n{EVIL}", "1/cases/000-x.out": EVIL}
    kind = {"Content-Type": "application/x-tar"}
    for number, body in boots_of(made):
        http.put(f"/api/v1/runs/{digest}/boots/{number}", json=hostile_boot(body)).raise_for_status()
        http.put(
            f"/api/v1/runs/{digest}/boots/{number}/raw", content=archive(files), headers=kind
        ).raise_for_status()


def upload_broken(http: Any) -> None:
    """A run whose head does not build, with evil where the compiler speaks."""
    broken = run_of(boots=1, cases=2, seed=2, head="broken", created="2026-11-21T11:00:00+00:00")
    arm = arm_of(broken.record, "head")
    arm |= {"failure": {"whose": "kernel", "message": EVIL, "next_step": EVIL, "evidence": EVIL}}
    arm["facts"].pop("kernel")
    http.put(f"/api/v1/runs/{broken.digest}", json=record_of(broken)).raise_for_status()
    number, body = next(boots_of(broken))
    http.put(f"/api/v1/runs/{broken.digest}/boots/{number}", json=body).raise_for_status()


def say_hostile(http: Any, report: str) -> Any:
    """Evil in triage, follows, tokens, requests, hosts and events; the work that a host was given."""
    target = {"targets": [{"platform": "amd-rome", "mode": "walltime"}], "suites": ["local-storage"]}
    form = {"state": "acknowledged", "owner": EVIL, "note": EVIL}
    http.post(f"/api/v1/reports/{report}/triage", json=form).raise_for_status()
    http.post(
        "/api/v1/follows",
        json={"tree": TREE, "branch": f"branch{EVIL}".replace(" ", "+"), "policy": "commit", **target},
    )
    http.post(
        "/api/v1/follows", json={"tree": TREE, "branch": "plain", "policy": "commit", **target}
    ).raise_for_status()
    plain = {"host": "rome-1", "platform": "amd-rome", "modes": ["walltime"], "isolation": "bubblewrap"}
    http.post("/api/v1/offers", json=plain).raise_for_status()
    asked = {"tree": TREE, "base": commit_of("base"), "head": commit_of("head"), "note": EVIL, **target}
    http.post("/api/v1/requests", json=asked, headers={"Idempotency-Key": "one"}).raise_for_status()
    check = {"name": EVIL, "status": EVIL, "finding": EVIL, "fixes": [EVIL]}
    offer = {
        "host": f"worker {EVIL}"[:200],
        "platform": "amd-rome",
        "modes": ["walltime"],
        "isolation": "bubblewrap",
        "about": {"modes": [EVIL], "doctor": {"verdict": EVIL, "checks": [check]}},
    }
    work = http.post("/api/v1/offers", json=offer).raise_for_status().json()
    tell(http, work["lease"], 1, f"[ 1 s] measure: {EVIL}")
    return work


def tell(http: Any, lease: str, number: int, text: str) -> None:
    event = {"number": number, "kind": "line", "at": "2026-11-21T12:00:00+00:00", "data": {"text": text}}
    http.post(f"/api/v1/leases/{lease}/events", json={"events": [event]}).raise_for_status()


@pytest.fixture
def hostile(running: Running) -> Any:
    """A service of which everything that could be said was said with evil in it, and work that a host was
    given.
    """
    with running.http("admin") as http:
        upload_hostile(http)
        upload_broken(http)
        running.make_history()
        running.do_tasks()
        work = say_hostile(http, running.get("/reports")["items"][0]["report"])
    with running.service.transaction() as connection:
        connection.execute("UPDATE follow SET problem = %s", [EVIL])
    return running, work


def links(page: Any) -> set[str]:
    addresses = page.eval_on_selector_all(
        "a[href^='/'], a[href]", "all => all.map((each) => each.getAttribute('href'))"
    )
    return {
        page.evaluate("(href) => new URL(href, location).pathname + new URL(href, location).search", each)
        for each in addresses
    }


def harmless(page: Any) -> None:
    """Nothing of the evil became an element, an attribute or a script, and no template was rendered twice."""
    assert page.locator("img:not([src*='/badge/'])").count() == 0
    assert page.locator("[onerror]").count() == 0
    assert page.locator("script:not([src]):not([type='application/json'])").count() == 0
    assert page.title() != "pwned"
    assert "1337" not in page.content()


def test_no_page_takes_a_string_for_markup(hostile: Any, watched: Any) -> None:
    """Walks every link of the site from its home on, signed in, so that forms are shown too."""
    running, _ = hostile
    page = watched.window(running)
    sign_in(page, running, "admin")
    waiting, seen, kinds = (
        ["/", "/runs", "/queue", "/hosts", "/regressions?state=all", "/series", "/jobs"],
        set(),
        {},
    )
    while waiting:
        address = waiting.pop()
        kind = re.sub(r"[0-9a-f-]{7,}|boots/\d+|\d+", "*", address.split("?")[0])
        kind = re.sub(r"(cases|files|branch)/.*", r"\1/*", kind)
        if (
            address in seen
            or kinds.get(kind, 0) >= 3
            or address.startswith(("/api/", "/static/", "/docs"))
            or address.endswith((".json", ".txt", ".md", ".commit", ".svg"))
            or "plain=1" in address
        ):
            continue
        seen.add(address)
        kinds[kind] = kinds.get(kind, 0) + 1
        answer = page.goto(address)
        assert answer.status == 200, address
        harmless(page)
        waiting += sorted(links(page) - seen)
    assert {
        "/compare/*...*/cases/*",
        "/runs/*/*/files/*",
        "/series/*",
        "/jobs/*",
        "/regressions/*",
        "/requests/*",
    } <= set(kinds)
    assert len(seen) > 20


def test_rows_that_unfold_and_events_that_stream_stay_text(hostile: Any, watched: Any) -> None:
    running, work = hostile
    page = watched.window(running)
    page.goto(f"/compare/{commit_of('base')}...{commit_of('head')}")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("tr.unfolded svg.strips").wait_for()
    harmless(page)
    page.goto(f"/jobs/{work['job']}")
    with running.http("admin") as http:  # whose lease it is
        tell(http, work["lease"], 2, f"[ 2 s] boot: {EVIL}")
    page.locator("#events li", has_text="boot:").wait_for()
    page.locator(".phases li", has_text="boot").wait_for()
    harmless(page)


def test_a_raw_output_is_never_a_page_of_its_own(hostile: Any) -> None:
    running, _ = hostile
    digest = running.get("/runs")["items"][-1]["run"]
    with running.http(None) as http:
        answer = http.get(f"/runs/{digest}/boots/1/files/1/cases/000-x.out", params={"plain": 1})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


def test_what_is_written_for_other_places_is_escaped_for_them(hostile: Any) -> None:
    running, _ = hostile
    pair = f"/compare/{commit_of('base')}...{commit_of('head')}"
    with running.http(None) as http:
        rendered = shown(http.get(f"{pair}.md").text)
        assert rendered.names <= {
            *[
                "p",
                "h3",
                "strong",
                "br",
                "table",
                "thead",
                "tbody",
                "tr",
                "th",
                "td",
                "ul",
                "li",
                "code",
                "pre",
                "details",
                "summary",
            ]
        }
        for suffix in (".txt", ".commit", ".json"):
            assert "html" not in http.get(pair + suffix).headers["content-type"]


def test_a_picture_takes_no_string_for_markup_and_stays_small(hostile: Any) -> None:
    running, _ = hostile
    running.follow("https://git.example.org/linux.git", "master", [commit_of("base"), commit_of("head")])
    with running.http(None) as http:
        pages = ["/regressions/" + each["report"] for each in running.get("/reports")["items"]]
        pages += ["/series/" + each["series"] for each in running.get("/series")["items"]]
        answers = [answer for each in pages if (answer := http.get(each + ".svg")).status_code == 200]
    assert any("regressions" in str(answer.url) for answer in answers)
    assert any("series" in str(answer.url) for answer in answers)
    for answer in answers:
        elements = list(ET.fromstring(answer.content).iter())
        names = {each.tag.removeprefix("{http://www.w3.org/2000/svg}") for each in elements}
        assert names <= {"svg", "title", "desc", "style", "rect", "path", "text", "circle"}
        assert not [name for each in elements for name in each.attrib if name.startswith("on")]
        assert len(answer.content) < 60_000
