"""Calibrations of hosts: stored with the host and its platform, shown, and the end of a quarantine."""

from typing import Any

import pytest
from asking import ask, offer
from msgspec.structs import replace
from service_running import Running

from cliffwatch.formats.calibration import FORMAT, CalibratedRow, CalibrationDocument
from cliffwatch.formats.reading import as_json

ROW = CalibratedRow(
    suite="local-storage",
    benchmark="local-storage-cache-seq-get",
    params={"nr_maps": "16"},
    metric="hits-latency",
    unit="ns/op",
    boots=36,
    spread=0.0042,
    difference=0.0011,
    detectable=0.0087,
    suggested_boots=11,
)

BLIND = replace(ROW, detectable=None)
WIDE = replace(ROW, suggested_boots=None)


def calibration(**members: Any) -> Any:
    plain: dict[str, Any] = {
        "format": FORMAT,
        "format_version": 1,
        "cliffwatch_version": "0.1.0",
        "created": "2026-11-21T13:00:00+00:00",
        "platform": "amd-rome",
        "mode": "walltime",
        "profile": "smoke",
        "boots": 12,
        "kernel": "6.18.0",
        "machine": {"microcode": "0x830107c"},
        "suites": ("local-storage",),
        "missing": (),
        "false_changes": (),
        "passed": True,
        "rows": (ROW,),
    }
    return as_json(CalibrationDocument(**(plain | members)))


def send(running: Running, scope: str = "work", host: str = "rome-1", **members: Any) -> Any:
    with running.http(scope) as http:
        return http.post(f"/api/v1/hosts/{host}/calibrations", json=calibration(**members))


@pytest.fixture
def host(running: Running) -> Running:
    ask(running)
    offer(running)
    return running


@pytest.mark.parametrize(
    ("row", "boots"),
    [
        (ROW, "11"),
        (WIDE, "over 999"),
        (replace(WIDE, layout_floor=0.04), "over 100"),
        (replace(WIDE, spread=None, detectable=None), "–"),
    ],
)
def test_the_page_and_the_command_name_the_same_boots(host: Running, row: CalibratedRow, boots: str) -> None:
    send(host, rows=(row,)).raise_for_status()
    with host.http(None) as http:
        page = http.get("/hosts/rome-1").raise_for_status().text
    assert f'data-label="boots for 1 %">{boots}</td>' in page


def quarantine(running: Running) -> None:
    with running.http() as http:
        body = {"quarantined": True, "reason": "base differed from itself"}
        http.post("/api/v1/hosts/rome-1/quarantine", json=body).raise_for_status()


def is_in_quarantine(running: Running) -> bool:
    return running.get("/hosts")["items"][0]["quarantined_since"] is not None


def test_it_is_stored_once_with_the_platform_and_shown_with_the_host(host: Running) -> None:
    assert send(host).status_code == 200
    assert send(host).status_code == 200
    (stored,) = host.get("/hosts/rome-1/calibrations")["items"]

    assert (stored["platform"], stored["mode"], stored["passed"]) == ("amd-rome", "walltime", True)
    assert stored["document"]["rows"][0]["suggested_boots"] == 11
    with host.http(None) as http:
        page = " ".join(http.get("/hosts/rome-1").raise_for_status().text.split())
    assert "amd-rome walltime: passed; 12 boots per arm of 6.18.0." in page
    assert '<td class="number" data-label="spread">0.42 %</td>' in page
    assert '<td class="number" data-label="layout floor">not measured</td>' in page


@pytest.mark.parametrize(
    ("members", "ends"),
    [
        ({"created": "2026-11-21T13:00:00+00:00"}, True),
        ({"created": "2026-11-21T11:00:00+00:00"}, False),
        ({"created": "2026-11-21T13:00:00+00:00", "false_changes": ("a case: +3 %",)}, False),
        ({"created": "2026-11-21T13:00:00+00:00", "missing": ("ringbufs",)}, False),
        ({"created": "2026-11-21T13:00:00+00:00", "mode": "icount"}, False),
        ({"created": "2026-11-21T13:00:00+00:00", "rows": (BLIND,)}, False),
    ],
)
def test_only_a_newer_walltime_calibration_that_passes_ends_a_quarantine(
    host: Running, members: dict[str, Any], *, ends: bool
) -> None:
    quarantine(host)
    assert send(host, **members).status_code == 200
    assert is_in_quarantine(host) is not ends
    if ends:
        (ended,) = [
            each for each in host.get("/audit", "admin")["items"] if each["action"] == "end-quarantine"
        ]
        assert ended["detail"]["reason"] == "a calibration that passed"


def test_it_belongs_to_the_host_and_its_platform(host: Running) -> None:
    other = host.token("of another", "work", host="rome-2")
    assert other
    assert send(host, "of another").status_code == 403
    assert send(host, "read").status_code == 403
    assert send(host, platform="rehearsal-x86-64").status_code == 409
    assert send(host, host="nobody").status_code == 404
    assert send(host, created="2026-11-99T13:00").status_code == 422
    assert host.get("/hosts/rome-1/calibrations")["items"] == []


@pytest.mark.parametrize(
    "members",
    [
        {"created": "0001-01-01T00:00:00+23:59"},
        {"created": "9999-12-31T23:59:59-23:59"},
        {"created": "2026-11-22T12:00:00+00:00"},
        {"created": "2026-11-21T11:00:00"},
        {"rows": (replace(ROW, spread=1e308),)},
    ],
)
def test_times_and_numbers_that_nothing_could_show_are_refused(
    host: Running, members: dict[str, Any]
) -> None:
    assert send(host, **members).status_code == 422
    assert host.get("/hosts/rome-1/calibrations")["items"] == []
    with host.http(None) as http:
        assert http.get("/hosts/rome-1").status_code == 200


def test_what_would_not_be_stored_is_refused_before_it_is_measured(host: Running) -> None:
    host.token("of another", "work", host="rome-2")

    def check(scope: str, name: str, platform: str = "amd-rome", mode: str = "walltime") -> int:
        with host.http(scope) as http:
            target = {"platform": platform, "mode": mode}
            status: int = http.post(f"/api/v1/hosts/{name}/calibrations/check", json=target).status_code
        return status

    assert check("work", "rome-1") == 200
    assert check("work", "rome-1", "emulated-x86-64", "icount") == 200
    assert check("of another", "rome-1") == 403
    assert check("work", "rome-2") == 403
    assert check("read", "rome-1") == 403
    assert check("work", "rome-1", "intel-skylake") == 409
    assert check("work", "nobody") == 404
    assert host.get("/hosts/rome-1/calibrations")["items"] == []
