"""Response model: pages of lists."""

from typing import Generic, TypeVar

from pydantic import BaseModel

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """A page of a list. `next` is the cursor of the next page; null on the last page."""

    items: list[T]
    next: str | None
