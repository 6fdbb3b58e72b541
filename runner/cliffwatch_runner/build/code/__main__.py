"""Lists a kernel in a process of its own: `python -m cliffwatch_runner.build.code REQUEST ANSWER`.

The kernel is somebody else's, and the disassembler a library in C: both stay inside the sandbox in which guests are emulated. REQUEST is JSON with
`kernel`, a folder with bzImage and System.map, and `functions`, names or null for all; ANSWER gets `digests` by name, or for names `functions` with their bytes and lines,
or what is `odd` about the kernel.
"""

import json
import sys
from pathlib import Path

from cliffwatch_runner.build.code.image import read_image
from cliffwatch_runner.build.code.listing import Listing
from cliffwatch_runner.build.code.symbols import LARGEST_MAP_BYTES, read_names


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    Path(sys.argv[2]).write_text(json.dumps(_answer(Path(request["kernel"]), request["functions"])))


def _answer(kernel: Path, wanted: list[str] | None) -> dict[str, object]:
    try:
        with (kernel / "System.map").open("rb") as file:
            names = read_names(file.read(LARGEST_MAP_BYTES))
    except OSError:
        return {"odd": "it came without a System.map, which says where its functions lie"}
    image = read_image(kernel / "bzImage")
    if isinstance(image, str):
        return {"odd": image}
    listing = Listing(image, names)
    functions = {name: (start, end) for name, start, end in names.functions()}
    if wanted is None:
        return {"digests": {name: listing.digest(*place) for name, place in functions.items()}}
    known = [(name, functions[name]) for name in wanted if name in functions]
    return {"functions": {name: (end - start, listing.lines(start, end)) for name, (start, end) in known}}


main()
