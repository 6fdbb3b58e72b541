"""Detects the format of a JSON document by its content, and parses it.

Unsupported formats are refused by name.
"""

import json

from cliffwatch.parsers.documents.foreign import refuse_foreign
from cliffwatch.parsers.documents.go_test import looks_like_go_test, parse_go_test
from cliffwatch.parsers.readings import Parsed, problem_at

LARGEST_CHARACTERS = 16 << 20
"""The largest document. It is parsed in memory as a whole, and its objects take forty times its size."""


def parse_json(text: str) -> Parsed:
    """Parses a text that begins like JSON. Never raises."""
    if looks_like_go_test(text):
        return parse_go_test(text)
    if len(text) > LARGEST_CHARACTERS:
        reason = (
            f"JSON of more than {LARGEST_CHARACTERS >> 20} MiB: split it by benchmark and compare the parts"
        )
        return Parsed(found=(), problems=(problem_at(0, text, reason),))
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Parsed(found=(), problems=(problem_at(0, text, f"no JSON: {str(error)[:200]}"),))
    return _parse_document(content, text)


def _parse_document(content: object, text: str) -> Parsed:
    from cliffwatch.parsers.documents.bencher import parse_bencher  # noqa: PLC0415 - each format loads its own reader
    from cliffwatch.parsers.documents.google_benchmark import looks_like_google, parse_google  # noqa: PLC0415 - as above
    from cliffwatch.parsers.documents.hyperfine import looks_like_hyperfine, parse_hyperfine  # noqa: PLC0415 - as above

    if isinstance(content, dict) and looks_like_google(content):
        return parse_google(content)
    if isinstance(content, dict) and looks_like_hyperfine(content):
        return parse_hyperfine(content)
    refused = refuse_foreign(content)
    if refused is not None:
        return Parsed(found=(), problems=(refused,))
    return parse_bencher(text)
