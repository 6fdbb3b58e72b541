"""Response models: what all share, and pages of lists."""

from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

T = TypeVar("T")


class Answer(BaseModel):
    """A response. Rows of the database that it holds are described by the lines under their fields."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Page(Answer, Generic[T]):
    """A page of a list. `next` is the cursor of the next page; null on the last page."""

    items: list[T]
    next: str | None
