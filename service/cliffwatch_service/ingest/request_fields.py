"""What texts and numbers of requests may be, as pydantic checks them."""

from typing import Annotated

from pydantic import Field, StringConstraints

LINE = r"^[^\x00-\x1f\x7f-\x9f]+$"
"""A pattern: one line, nothing that a terminal would obey."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=LINE)]
"""Of a suite, benchmark, parameter, metric, platform or host."""

Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
