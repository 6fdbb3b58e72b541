"""Makes packages that hold nothing but scripts. Without imports of ours: build backends of tests
use it too.
"""

import base64
import hashlib
from pathlib import Path
from zipfile import ZipFile, ZipInfo


def make_wheel(folder: Path | str, name: str, scripts: dict[str, str]) -> Path:
    """Version 1 of a package."""
    info = f"{name}-1.dist-info"
    files = {f"{name}-1.data/scripts/{script}": text for script, text in scripts.items()}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    lines = [f"{path},sha256={_record_hash(text)},{len(text)}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""])
    wheel = Path(folder) / f"{name}-1-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            member = ZipInfo(path)
            member.external_attr = 0o100755 << 16
            archive.writestr(member, text)
    return wheel


def _record_hash(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
