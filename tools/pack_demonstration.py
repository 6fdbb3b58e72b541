"""Packs result directories into the archive that `cliffwatch demo-data` unpacks.

    python tools/pack_demonstration.py FOLDER... -o service/cliffwatch_service/command/demonstration/measured.tar.zst

What a host says of its own folders is replaced, in raw outputs too; everything else stays as it was
measured.
"""

import argparse
import io
import re
import tarfile
from pathlib import Path

import zstandard

TREE = "https://git.example.org/demonstration.git"
_SITE_PACKAGES = re.compile(rb"/[^\s\"'=]*/site-packages")


def cleaned(content: bytes, tree: bytes) -> bytes:
    content = _SITE_PACKAGES.sub(b"/usr/lib/python3/dist-packages", content)
    return content.replace(tree, TREE.encode()) if tree else content


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("-o", "--out", required=True, type=Path)
    parser.add_argument("--tree", default="", help="the tree's folder, which run.json names")
    given = parser.parse_args()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for number, folder in enumerate(given.folders, start=1):
            for path in sorted(folder.rglob("*")):
                if not path.is_file():
                    continue
                content = cleaned(path.read_bytes(), given.tree.encode())
                member = tarfile.TarInfo(f"{number:02d}/{path.relative_to(folder)}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    given.out.write_bytes(zstandard.ZstdCompressor(level=19).compress(packed.getvalue()))
    print(f"{given.out}: {given.out.stat().st_size:,} bytes of {len(packed.getvalue()):,}")


if __name__ == "__main__":
    main()
