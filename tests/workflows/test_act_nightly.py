"""nightly.yml runs: a branch is watched from one night to the next, and an issue names what made
it slower.
"""

import json
import re
from pathlib import Path

from acting import Acted, acted, put_program
from toy import change, git, toy_repository

STAND_IN = Path(__file__).parents[1] / "service/stand_in_command.py"
EXAMPLE = Path(__file__).parents[2] / "examples/github/nightly.yml"

GH = """#!/usr/bin/env python3
import json, os, pathlib, sys
issues = pathlib.Path(os.environ["ARTIFACTS"], "issues.json")
known = json.loads(issues.read_text()) if issues.exists() else []
if sys.argv[1:3] == ["issue", "list"]:
    print(json.dumps(any(each["title"] == os.environ["TITLE"] for each in known)))
else:
    given = dict(zip(sys.argv[3::2], sys.argv[4::2]))
    known.append({"title": given["--title"], "body": pathlib.Path(given["--body-file"]).read_text()})
    issues.write_text(json.dumps(known))
"""


def night(folder: Path, watched: Path) -> Acted:
    """One night of a repository that calls nightly.yml for the toy tree."""
    put_program(folder, STAND_IN)
    (folder / "bin/gh").write_text(GH)
    (folder / "bin/gh").chmod(0o755)
    home = folder / "caller"
    if not home.exists():
        home.mkdir()
        git(home, "init", "--quiet", "--initial-branch=main")
        change(home, "README", "watches linux\n", "Begin")
    event = {"repository": {"full_name": "somebody/watch", "name": "watch", "owner": {"login": "somebody"}}}
    given = f'with: {{ tree: "file://{watched}", branch: "master", since: "10 years ago" }}'
    workflow = re.sub(r"# with: .*", given, EXAMPLE.read_text())
    return acted(home, workflow, "workflow_dispatch", event, folder)


def issues(acted: Acted) -> list[dict[str, str]]:
    file = acted.artifacts / "issues.json"
    found: list[dict[str, str]] = json.loads(file.read_text()) if file.exists() else []
    return found


def test_an_issue_names_the_commit_of_the_night_and_comes_once(tmp_path: Path) -> None:
    watched = toy_repository(tmp_path)
    change(watched, "README", "first\n", "docs: First")

    first = night(tmp_path, watched)

    assert first.status == 0, first.log
    assert "### master: no change" in first.summary
    assert issues(first) == []

    culprit = change(watched, "behaviour", "latency 206\n", "bpf: Make it slow")
    change(watched, "README", "later\n", "docs: Later")
    second = night(tmp_path, watched)

    assert second.status == 0, second.log
    (issue,) = issues(second)
    assert issue["title"].startswith("master: 1 regression, ")
    assert f"    {culprit[:12]}  bpf: Make it slow" in issue["body"]

    third = night(tmp_path, watched)

    assert third.status == 0, third.log
    assert "nothing new" in third.summary
    assert len(issues(third)) == 1
