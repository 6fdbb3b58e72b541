"""Lists a kernel in a separate process: `python -m cliffwatch_runner.build.code REQUEST ANSWER`.

The kernel is untrusted and the disassembler is a C library, so both stay in the sandbox in which guests are
emulated. REQUEST is JSON with `kernel`, a folder with bzImage and System.map, and one of:

- `functions`: names, or null for all functions. For null ANSWER gets `digests` by name, for names `functions`
  with their bytes and lines.
- `programs`: BPF programs that this kernel's JIT made, each with its start, its code in hex and its
  neighbours. ANSWER gets the lines of each.

If the kernel cannot be listed, ANSWER gets the reason as `odd`.
"""

import json
import sys
from pathlib import Path

from cliffwatch.failure import Failure
from cliffwatch_runner.build.code.image import read_image
from cliffwatch_runner.build.code.listing import Listing
from cliffwatch_runner.build.code.program_listing import Neighbour, ProgramListing
from cliffwatch_runner.build.code.symbols import LARGEST_MAP_BYTES, Names, read_names

_Program = tuple[int, str, list[Neighbour]]
"""Start address, code in hex, and neighbours."""


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text())
    answer = _answer(Path(request["kernel"]), request.get("functions"), request.get("programs"))
    Path(sys.argv[2]).write_text(json.dumps(answer))


def _answer(kernel: Path, wanted: list[str] | None, programs: list[_Program] | None) -> dict[str, object]:
    try:
        with (kernel / "System.map").open("rb") as file:
            names = read_names(file.read(LARGEST_MAP_BYTES))
    except OSError:
        return {"odd": "it came without a System.map, which says where its functions lie"}
    if programs is not None:
        listing = ProgramListing(names)
        return {
            "programs": [
                listing.lines(start, bytes.fromhex(code), neighbours) for start, code, neighbours in programs
            ]
        }
    return _functions(kernel, names, wanted)


def _functions(kernel: Path, names: Names, wanted: list[str] | None) -> dict[str, object]:
    image = read_image(kernel / "bzImage")
    if isinstance(image, Failure):
        return {"odd": image.message}
    listing = Listing(image, names)
    functions = {name: (start, end) for name, start, end in names.functions()}
    if wanted is None:
        return {"digests": {name: listing.digest(*place) for name, place in functions.items()}}
    known = [(name, functions[name]) for name in wanted if name in functions]
    return {"functions": {name: (end - start, listing.lines(start, end)) for name, (start, end) in known}}


main()
