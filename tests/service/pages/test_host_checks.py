"""The base vs base checks of a host over time: on its page, and as a picture."""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta
from typing import Any

from service_running import Running

from cliffwatch_service.store.work.hosts import HostCheckRow
from cliffwatch_service.web.layout.render import render_svg
from cliffwatch_service.web.work.hosts import draw_checks

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_the_page_of_a_host_draws_its_checks_and_leads_to_their_runs(opened: Any) -> None:
    page = opened("/hosts", script=False)
    page.get_by_role("link", name="rome-1", exact=True).click()
    dots = page.locator(".stepped svg a")
    rows = page.locator("details tbody tr")
    assert dots.count() == rows.count() > 5
    words = str(dots.last.get_attribute("aria-label"))
    assert "0 of 20 false positives, largest difference 0." in words
    assert "threshold 1 %" in str(page.locator(".stepped svg").text_content())
    dots.last.click()
    assert "/runs/" in page.url


def test_a_host_that_counts_exactly_says_why_it_has_none(demonstration: Running) -> None:
    with demonstration.http(None) as http:
        assert "runs in walltime boot base under two names" in http.get("/hosts/emulator-1").text
        assert http.get("/hosts/emulator-1.svg").status_code == 404
        assert http.get("/hosts/nobody").status_code == 404
        answer = http.get("/hosts/rome-1.svg")
    assert answer.headers["content-type"] == "image/svg+xml"
    assert "href" not in answer.text


def test_a_false_positive_is_circled_and_no_line_crosses_a_changed_environment() -> None:
    rows = [
        HostCheckRow(
            run=f"{number:032x}",
            at=NOON + timedelta(days=number),
            head=f"{number:040x}",
            n=8,
            rows=20,
            published=int(number == 3),
            largest=0.02 if number == 3 else 0.004,
            notable=0.01,
            epoch="first" if number < 4 else "second",
        )
        for number in range(6)
    ]
    svg = render_svg("work/checks.svg", name='<b>"&rome', checks=draw_checks(rows))
    shapes = list(ET.fromstring(svg).iter())
    kinds = [each.get("class") for each in shapes]
    assert kinds.count("false") == 1
    assert kinds.count("line head") == 2
    assert "1 with a false positive, circled" in svg
    assert "2026-11-24, run 000000000000: 1 of 20 false positives, largest difference 2.00 %, n 8" in svg
    assert '<b>"' not in svg
    assert draw_checks([]) is None
