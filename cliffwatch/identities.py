"""Identities from content: the same thing measured, stored twice or sent by another way, has the same name
everywhere.
"""

import hashlib
import json

from cliffwatch.samples import CaseKey, Mode

LENGTH = 32
"""Hexadecimal digits of an identity: 128 bits of SHA-256."""


def digest_of(content: object) -> str:
    """The identity of a JSON value: keys sorted, no blanks, no NaN. Raises ValueError, TypeError for what is
    none.
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def case_digest(case: CaseKey) -> str:
    return digest_of(["case", case.suite, case.benchmark, case.params])


def series_digest(case: CaseKey, metric: str, unit: str, platform: str, mode: Mode) -> str:
    return digest_of(["series", case.suite, case.benchmark, case.params, metric, unit, platform, mode])


def run_digest(identity: str, created: str, host: str) -> str:
    """Of one carrying out of a plan: its identity, when it began, as run.json has both, and the host."""
    return digest_of(["run", identity, created, host])
