"""Documents are read by many threads, from the first one on."""

import subprocess
import sys

READ_BY_TWO_THREADS = """
import sys, threading
from typing import Any
import msgspec
from cliffwatch.formats.reading import convert_to, read_as

def kind(number: int) -> type[Any]:
    part = msgspec.defstruct(f"Part{number}", [(f"a{member}", int) for member in range(20)])
    return msgspec.defstruct(f"Document{number}", [("first", tuple[part, ...]), ("second", dict[str, part])])

part = {f"a{member}": member for member in range(20)}
raw = {"first": [part], "second": {"a": part}}
text = msgspec.json.encode(raw)
sys.setswitchinterval(1e-6)
for number in range(300):
    document, begin = kind(number), threading.Barrier(2)
    answers = []

    def first(): begin.wait(); answers.append(convert_to(raw, document))
    def second(): begin.wait(); answers.append(read_as(text, document))

    threads = [threading.Thread(target=each) for each in (first, second)]
    for each in threads: each.start()
    for each in threads: each.join()
    assert answers[0] == answers[1] and answers[0].first[0].a19 == 19, answers
"""


def test_two_threads_read_a_document_of_a_kind_that_none_read_before() -> None:
    """Two hosts that sent the first uploads of a service at once killed it."""
    ended = subprocess.run(
        [sys.executable, "-c", READ_BY_TWO_THREADS], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 0, ended.stderr
