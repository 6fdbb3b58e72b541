"""Makes output and files work in every locale, including locales that lack some characters."""

import codecs
import io
import locale
import os
import sys
from contextlib import suppress

_HANDLER = "cliffwatch"
_ASCII = "cliffwatch_ascii"
_PLAIN = {
    "…": "...",
    "→": "->",
    "±": "+-",
    "µ": "u",
    "≠": "!=",
    "≤": "<=",
    "≥": ">=",
    "▲": "^",
    "▼": "v",
    "✓": "+",
    "✗": "x",
    "│": "|",
    "¦": "|",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{MULTIPLICATION SIGN}": "x",
}


def prepare_streams() -> None:
    """Replaces characters that the output's encoding lacks, and makes file contents UTF-8 in every locale.

    File names keep the locale's encoding, which Python chose at startup.
    """
    codecs.register_error(_HANDLER, _replace)
    codecs.register(_ascii_codec)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            # Under its own name click takes the encoding for an accident, and writes UTF-8.
            stream.reconfigure(encoding=_ASCII if is_ascii else None, errors=_HANDLER)
    with suppress(locale.Error):
        locale.setlocale(locale.LC_CTYPE, "C.UTF-8")


def drop_output() -> None:
    """Discards output that cannot be written.

    Else Python would retry at exit, and end with its own exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _replace(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    if error.encoding.lower() in ("utf-8", "utf8"):  # a byte of a file's name, which is no text
        return "\N{REPLACEMENT CHARACTER}".encode() * (error.end - error.start), error.end
    return "".join(
        _PLAIN.get(character, "?") for character in error.object[error.start : error.end]
    ), error.end


def _ascii_codec(name: str) -> codecs.CodecInfo | None:
    if name != _ASCII:
        return None
    known = codecs.lookup("ascii")
    return codecs.CodecInfo(
        known.encode,
        known.decode,
        known.streamreader,
        known.streamwriter,
        known.incrementalencoder,
        known.incrementaldecoder,
        name=_ASCII,
    )
