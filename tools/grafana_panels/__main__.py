"""Makes docs/screenshots/grafana: each dashboard on the demonstration, light and dark, drawn by Grafana's components.

python tools/grafana_panels [UID]…
"""

import io
import itertools
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / part) for part in ("tools", "tests", "tests/dashboards")]
from browsing import launch  # noqa: E402
from dashboards_read import dashboards  # noqa: E402
from npm_packages import NotFetchedError  # noqa: E402

from cliffwatch_service.command.demonstration.filling import fill  # noqa: E402
from cliffwatch_service.postgres.embedded import start_embedded  # noqa: E402
from cliffwatch_service.postgres.migrate import migrate  # noqa: E402
from grafana_panels.built import built_page  # noqa: E402
from grafana_panels.drawing import Page, faults_of, read_dashboard  # noqa: E402
from grafana_panels.lived_in import SITE, live_in, open_as_grafana  # noqa: E402

OUT = ROOT / "docs/screenshots/grafana"


def main() -> int:
    try:
        built = built_page()
    except NotFetchedError as reason:
        print(reason, file=sys.stderr)
        return 1
    OUT.mkdir(exist_ok=True)
    wanted_uids, now, faults = sys.argv[1:], datetime.now(UTC), 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        postgres = start_embedded(Path(folder))
        migrate(postgres.url)
        with psycopg.connect(postgres.url) as connection:
            fill(connection, now, print)
            live_in(connection, now)
        with open_as_grafana(postgres.url, SITE) as reading:
            chromium = launch(playwright)
            page = Page(chromium, built)
            wanted = [each for each in dashboards() if not wanted_uids or each["uid"] in wanted_uids]
            # All are read before the first is drawn: what is about now goes stale meanwhile.
            read = {each["uid"]: read_dashboard(reading, each, now) for each in wanted}
            for uid, mode in itertools.product(read, ("light", "dark")):
                drawing = page.draw(read[uid], mode)
                path = OUT / f"{uid.removeprefix('cliffwatch-')}{'-dark' if mode == 'dark' else ''}.png"
                # A palette of 256 colours that keeps those of thin lines.
                picture = Image.open(io.BytesIO(drawing.picture)).convert("RGB")
                picture.quantize(256, method=Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
                print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} KB")
                for fault in faults_of(drawing):
                    faults += 1
                    print(f"  {fault}", file=sys.stderr)
            chromium.close()
        postgres.stop()
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
