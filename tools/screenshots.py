"""Makes docs/screenshots: every page of the demonstration, on a clock that stands still, so that only what
changed changes.
"""

import io
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from browsing import launch
from pages_named import PAGES, address
from service_running import Clock, serving

from cliffwatch_service.command.demonstration.filling import fill
from cliffwatch_service.postgres.embedded import start_embedded
from cliffwatch_service.postgres.migrate import migrate
from cliffwatch_service.postgres.pool import open_pool
from cliffwatch_service.runtime.settings import Settings

NOW = datetime(2026, 11, 22, 9, tzinfo=UTC)
ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs/screenshots"

ALSO = {
    "home": ("dark", "hand"),
    "compare": ("dark", "hand"),
    "series": ("dark", "hand"),
    "case": ("hand",),
    "run": ("dark",),
}
"""Pages that are shown in other ways too: in the dark theme, at the width of a hand."""


def main() -> None:
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        postgres = start_embedded(Path(folder))
        migrate(postgres.url)
        pool = open_pool(postgres.url, connections=2, statement_seconds=60)
        with pool.connection() as connection:
            fill(connection, NOW, print)
        pool.close()
        clock = Clock()
        clock.moment = NOW
        settings = Settings(data_dir=Path(folder), requests_per_minute=1_000_000)
        with serving(postgres.url, settings, clock) as running, sync_playwright() as playwright:
            chromium = launch(playwright)
            for name in PAGES:
                for way in ("", *ALSO.get(name, ())):
                    size = {"width": 390, "height": 844} if way == "hand" else {"width": 1280, "height": 960}
                    context = chromium.new_context(
                        base_url=running.url, viewport=size, color_scheme="dark" if way == "dark" else "light"
                    )
                    page = context.new_page()
                    page.goto(address(running, name))
                    page.wait_for_function("document.fonts.status === 'loaded'")
                    path = OUT / f"{name}{'-' + way if way else ''}.png"
                    # Pages have few colours: a palette makes the pictures a third as large.
                    Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(128).save(
                        path, optimize=True
                    )
                    print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} KB")
                    context.close()
            chromium.close()
        postgres.stop()


if __name__ == "__main__":
    main()
