"""Dashboards and provisioning are whole: fresh, described, with units; what they refer to is there."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dashboards_read import ROOT, alert_rules, dashboards, panels, queries, variables
from test_words import forbidden

DASHBOARDS = {dashboard["uid"]: dashboard for dashboard in dashboards()}
REPOSITORY = ROOT.parent
UNITS = {"short", "none", "percentunit", "s", "h", "bytes"}
KINDS = {"stat", "table", "timeseries", "trend", "xychart"}


def source_uid() -> str:
    content = yaml.safe_load((ROOT / "provisioning/datasources/cliffwatch.yaml").read_text())
    (source,) = content["datasources"]
    assert source["type"] == "grafana-postgresql-datasource"
    uid: str = source["uid"]
    return uid


def run_builders(*arguments: str, folder: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, folder, *arguments], capture_output=True, text=True, check=False)


def copied(folder: Path) -> Path:
    return Path(shutil.copytree(ROOT, folder / "dashboards", ignore=shutil.ignore_patterns("node_modules")))


def test_generated_files_are_what_the_builders_make(tmp_path: Path) -> None:
    checked = run_builders("--check")
    assert checked.returncode == 0, checked.stderr
    copy = copied(tmp_path)
    file = copy / "generated/cliffwatch-fleet.json"
    file.write_text(file.read_text().replace("Longest wait", "Waits"))
    stale = run_builders("--check", folder=copy)
    assert stale.returncode == 1
    assert "cliffwatch-fleet.json" in stale.stderr
    assert run_builders(folder=copy).returncode == 0
    assert file.read_text() == (ROOT / "generated/cliffwatch-fleet.json").read_text()


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_every_panel_says_what_it_shows(uid: str) -> None:
    dashboard = DASHBOARDS[uid]
    assert len(dashboard["description"]) > 40
    numbers = [panel["id"] for panel in panels(dashboard)]
    assert len(set(numbers)) == len(numbers)
    for panel in panels(dashboard):
        where = f"{uid}: {panel['title']}"
        defaults = panel["fieldConfig"]["defaults"]
        assert panel["type"] in KINDS, where
        assert len(panel["description"]) > 20, where
        if panel["type"] == "table":  # a unit of all columns makes numbers of hashes that are digits
            assert "unit" not in defaults, where
        else:
            assert defaults["unit"] in UNITS, where
            assert defaults["thresholds"]["steps"][0]["value"] is None, where
    for variable in variables(dashboard):
        assert variable["description"], variable["name"]


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_panels_lie_beside_each_other(uid: str) -> None:
    """Within Grafana's 24 columns, and none upon another."""
    taken: set[tuple[int, int]] = set()
    for panel in panels(DASHBOARDS[uid]):
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        cells = {
            (place["x"] + column, place["y"] + row)
            for column in range(place["w"])
            for row in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


def test_words_are_those_of_the_glossary() -> None:
    texts = [
        *(
            panel[part]
            for dashboard in DASHBOARDS.values()
            for panel in panels(dashboard)
            for part in ("title", "description")
        ),
        *(variable["description"] for dashboard in DASHBOARDS.values() for variable in variables(dashboard)),
        *(dashboard["description"] for dashboard in DASHBOARDS.values()),
        *(text for rule in alert_rules() for text in (rule["title"], *rule["annotations"].values())),
    ]
    assert len(texts) > 150
    assert [wrong for text in texts for wrong in forbidden(text)] == []


def test_the_check_of_base_is_of_hardware_alone() -> None:
    read = [
        query.text for each in dashboards() for query in queries(each) if "dashboard.control" in query.text
    ]

    assert len(read) > 4
    assert all("NOT starts_with(platform, 'rehearsal-')" in text for text in read)


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_everything_asks_the_provisioned_source(uid: str) -> None:
    dashboard, source = DASHBOARDS[uid], source_uid()
    asked = [
        *(panel["datasource"]["uid"] for panel in panels(dashboard)),
        *(target["datasource"]["uid"] for panel in panels(dashboard) for target in panel["targets"]),
        *(variable["datasource"]["uid"] for variable in variables(dashboard) if variable["type"] == "query"),
        *(each["datasource"]["uid"] for each in dashboard.get("annotations", {}).get("list", [])),
    ]
    assert set(asked) == {source}


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_variables_that_are_used_are_there_and_the_other_way_round(uid: str) -> None:
    """A variable may use those before it; none is there for nothing."""
    dashboard = DASHBOARDS[uid]
    known: list[str] = []
    used: set[str] = set()
    for variable in variables(dashboard):
        needed = names_in(variable["query"]) if variable["type"] == "query" else set()
        assert needed <= set(known), f"{variable['name']} needs {needed - set(known)}"
        used |= needed
        known.append(variable["name"])
    text = json.dumps([panels(dashboard), dashboard.get("annotations"), dashboard["links"]])
    used |= names_in(text)
    assert used == set(known)


def names_in(text: str) -> set[str]:
    found = re.findall(r"\$\{?(\w+)", text)
    return {name for name in found if not name.startswith("__")}


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_columns_that_are_referred_to_are_selected(uid: str) -> None:
    for panel in panels(DASHBOARDS[uid]):
        text = " ".join(target["rawSql"] for target in panel["targets"])
        overrides = panel["fieldConfig"]["overrides"] if panel["type"] == "table" else []
        named = {override["matcher"]["options"] for override in overrides}
        named |= set(re.findall(r"__data\.fields\.(\w+)", json.dumps(panel["fieldConfig"])))
        for name in named:
            assert re.search(rf"\b{name}\b", text), f"{uid}: {panel['title']} has no column {name}"


def test_queries_hold_nothing_that_grafana_would_take_for_something_else() -> None:
    """Comments are stripped by newer versions; arguments of macros must not hold a bracket."""
    for dashboard in DASHBOARDS.values():
        for query in queries(dashboard):
            assert "--" not in query.text, query.where
            assert "/*" not in query.text, query.where
            assert not re.search(r"\$__\w+\([^)]*\(", query.text), query.where


def test_provisioned_folders_and_uids_fit_together() -> None:
    (provider,) = yaml.safe_load((ROOT / "provisioning/dashboards/cliffwatch.yaml").read_text())["providers"]
    assert provider["type"] == "file"
    assert {file.stem for file in (ROOT / "generated").iterdir()} == set(DASHBOARDS)
    assert all(dashboard["tags"] == ["cliffwatch"] for dashboard in DASHBOARDS.values())
    for dashboard in DASHBOARDS.values():
        ways = {link["type"]: link for link in dashboard["links"]}
        assert ways["dashboards"]["tags"] == ["cliffwatch"]
        assert ways["link"]["url"] == "${site}"


def test_the_composition_gives_what_provisioning_asks_for() -> None:
    services = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]
    grafana, migrations = services["grafana"], services["migrations"]
    texts = [
        (ROOT / f"provisioning/{part}/cliffwatch.yaml").read_text() for part in ("datasources", "dashboards")
    ]
    asked = set(re.findall(r"\$\{(\w+)\}", " ".join(texts)))
    assert asked <= set(grafana["environment"])
    user = grafana["environment"]["CLIFFWATCH_DASHBOARDS_USER"]
    assert migrations["command"][migrations["command"].index("--reader") + 1] == user
    mounted = dict(mount.split(":")[:2] for mount in grafana["volumes"])
    assert mounted["./dashboards/provisioning"] == "/etc/grafana/provisioning"
    assert f"path: {mounted['./dashboards/generated']}\n" in texts[1]
    assert f"$__file{{{mounted['secrets-grafana']}/reader-password}}" in texts[0]


def test_one_release_of_grafana_is_named_once() -> None:
    """Types and components are pinned to the Grafana that compose starts; the SDK has one line for every Grafana from 12
    on.
    """
    version = (ROOT / "grafana-version").read_text().strip()
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    for folder in (ROOT / "types", REPOSITORY / "tools/grafana_panels/browser"):
        lock = json.loads((folder / "package-lock.json").read_text())["packages"]
        pinned = lock[""].get("dependencies", {}) | lock[""].get("devDependencies", {})
        ours = {name: each for name, each in pinned.items() if name.startswith("@grafana/")}
        assert set(ours.values()) == {version}
        assert {lock[f"node_modules/{name}"]["version"] for name in ours} == {version}
        assert all(each["integrity"].startswith("sha512-") for name, each in lock.items() if name)
        assert all("resolved" not in each for each in lock.values())
    started = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]["grafana"]
    assert started["image"] == f"grafana/grafana:${{GRAFANA_VERSION:-{version}}}"
    pins = (REPOSITORY / "requirements/dashboards.txt").read_text()
    assert re.search(r"^grafana-foundation-sdk==\S+ \\\n    --hash=sha256:", pins, re.MULTILINE)


def test_secrets_are_in_no_file() -> None:
    content = yaml.safe_load((ROOT / "provisioning/datasources/cliffwatch.yaml").read_text())
    (source,) = content["datasources"]
    assert source["secureJsonData"] == {"password": "$__file{/run/cliffwatch-secrets/reader-password}"}
    assert all(
        value.startswith("${") for value in (source["url"], source["user"], source["jsonData"]["database"])
    )
    assert "password" not in json.dumps(source["jsonData"])


TYPES = ROOT / "types/node_modules/@grafana/schema/package.json"


@pytest.mark.skipif(
    not TYPES.exists(), reason="Grafana's types are not installed here: make dashboards-types"
)
def test_dashboards_are_of_grafanas_types(tmp_path: Path) -> None:
    """By TypeScript's compiler; a dashboard that is not is refused."""
    copy = copied(tmp_path)
    (copy / "types/node_modules").symlink_to(ROOT / "types/node_modules")
    checked = types_checked(copy)
    assert checked.returncode == 0, checked.stdout
    file = copy / "generated/cliffwatch-fleet.json"
    file.write_text(file.read_text().replace('"showLegend": true', '"showLegend": "yes"'))
    assert types_checked(copy).returncode != 0


def types_checked(folder: Path) -> "subprocess.CompletedProcess[str]":
    env = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, folder / "types/check.py"], capture_output=True, text=True, check=False, env=env
    )
