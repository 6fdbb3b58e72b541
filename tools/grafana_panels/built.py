"""The page that draws panels, bundled of Grafana's packages (browser/)."""

import shutil
import subprocess
from pathlib import Path

from npm_packages import made_of_packages

_BROWSER = Path(__file__).parent / "browser"
_BUNDLE = (
    "--bundle",
    "--minify",
    "--jsx=automatic",
    "--define:global=window",
    '--define:process.env.NODE_ENV="production"',
    "--loader:.svg=dataurl",
    "--loader:.ttf=empty",  # of the editor's icons, which no panel shows
    "--log-level=warning",
)


def built_page() -> Path:
    """The folder with page.html and all that it loads. Raises NotFetchedError."""
    return made_of_packages("grafana-panels", _BROWSER, _bundle)


def _bundle(work: Path, made: Path) -> None:
    packages = work / "node_modules"
    esbuild = packages / ".bin/esbuild"
    subprocess.run([esbuild, "page.jsx", *_BUNDLE, f"--outfile={made / 'page.js'}"], cwd=work, check=True)
    shutil.copy(work / "page.html", made)
    shutil.copytree(packages / "@grafana/ui/dist/public/img", made / "img")
    shutil.copy(
        packages / "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2", made / "inter.woff2"
    )
