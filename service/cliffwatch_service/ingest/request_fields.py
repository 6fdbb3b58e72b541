"""Types of the texts and numbers in requests, which pydantic checks."""

from typing import Annotated

from pydantic import Field, StringConstraints

LINE = r"^[^\x00-\x1f\x7f-\x9f]+$"
"""Pattern of one line without control characters, which a terminal would obey."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=LINE)]
"""Name of a suite, benchmark, parameter, metric, platform or host."""

Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
