"""The pages of the demonstration by name, with a word that each must say: for tests and for
docs/screenshots.
"""

import re
from dataclasses import dataclass

from service_running import Running

COMPARISON = "21d6391a3033...e975db19874b"
CASE = "local-storage/local-storage-cache-seq-get/nr_maps=16"
PULL_REQUEST = "Look up local storage without the lock"


@dataclass(frozen=True)
class Named:
    """An address, or `links`: a page, which of its links, and what follows it. `words` are of every visitor's
    main content.
    """

    words: str
    path: str = ""
    links: tuple[str, ...] | None = None
    status: int = 200


PAGES = {
    "home": Named("Followed branches", "/"),
    "compare": Named("15 slower", f"/compare/{COMPARISON}"),
    "compare-choose": Named("Compare two revisions", "/compare"),
    "compare-failed": Named("does not build", "/compare/325d59a8d264...fe4c663abdcf"),
    "compare-none": Named("No row", f"/compare/{COMPARISON}?text=nothing+is+called+so"),
    "case": Named("every boot", f"/compare/{COMPARISON}/cases/{CASE}"),
    "series": Named(
        "published 2024",
        links=(f"/compare/nearest...871a5680b9fa/cases/{CASE}", r"/series/[0-9a-f]{32}\?head=[0-9a-f]+"),
    ),
    "series-list": Named("local-storage", "/series"),
    "regressions": Named("Alert quality", "/regressions?state=all"),
    "regression": Named("Comments", links=("/regressions?state=acknowledged", r"/regressions/[0-9a-f]{32}")),
    "branch": Named("What each commit changed", "/branches/for-next"),
    "branches": Named("Confirmation runs", "/branches"),
    "runs": Named("emulator-1", "/runs"),
    "run": Named("NULL pointer dereference", links=("/runs", r"/runs/[0-9a-f]{32}")),
    "boot": Named("Outputs", links=("/revisions/9f1083cd5ad7", r"/runs/[0-9a-f]{32}", "/boots/2")),
    "output": Named(
        "BUG: kernel NULL pointer",
        links=("/revisions/9f1083cd5ad7", r"/runs/[0-9a-f]{32}", "/boots/2/files/1/dmesg"),
    ),
    "queue": Named("Ended", "/queue"),
    "jobs": Named("running", "/jobs"),
    "job": Named("measure", links=("/jobs?state=leased", r"/jobs/[0-9a-f-]{36}")),
    "hosts": Named("Platforms", "/hosts"),
    "host": Named("false positive", "/hosts/rome-1"),
    "suites": Named("Task local storage", "/suites"),
    "suite": Named("icount", "/suites/local-storage"),
    "revision": Named("Compare with the nearest", "/revisions/e975db19874b"),
    "platforms": Named(
        "on every platform",
        "/platforms?revision=e975db19874b&suite=local-storage&benchmark=local-storage-cache-seq-get",
    ),
    "search": Named("Take the local storage lookup", "/search?q=local+storage+lookup"),
    "search-none": Named("Nothing has such a name", "/search?q=1234567abcdef"),
    "measure": Named("Ask for a measurement", "/measure?head=e975db19874b"),
    "subscriptions": Named("All news", "/subscriptions"),
    "sign-in": Named("Token", "/sign-in"),
    "unknown": Named("no revision 7654321", "/compare/1234567...7654321", status=404),
}


def address(running: Running, name: str) -> str:
    """The address of a page; those that hold an identity are found as a reader would find them."""
    named = PAGES[name]
    if named.links is None:
        return named.path
    page, pattern, *rest = named.links
    with running.http(None) as http:
        links = re.findall(f'href="({pattern})"', http.get(page).text)
    return str(links[0]).replace("&amp;", "&") + "".join(rest)
