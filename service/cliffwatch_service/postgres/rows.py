"""Rows as objects: each kind of row is a class whose fields are the columns of its queries, by name."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from psycopg import Connection, Cursor
from psycopg.rows import class_row

Row = TypeVar("Row")
Value = TypeVar("Value")


def typed(connection: Connection[Any], kind: type[Row]) -> Cursor[Row]:
    """A cursor whose rows are of this class. Raises TypeError for a column that is no field, or a field without a column."""
    return connection.cursor(row_factory=class_row(kind))


def many(connection: Connection[Any], make: Callable[[Iterable[Any]], Row]) -> Cursor[Row]:
    """For thousands of rows: `make` is a named tuple's or a struct's own, whose fields are the columns in their order. Raises TypeError
    where there are more or fewer.
    """
    return connection.cursor(row_factory=tuple_row(make))


def tuple_row(
    make: Callable[[Iterable[Any]], Row],
) -> Callable[[Cursor[Any]], Callable[[Iterable[Any]], Row]]:
    return lambda _: make


def values(connection: Connection[Any], kind: type[Value]) -> Cursor[Value]:
    """A cursor whose rows are the value of their one column. Raises TypeError where that is of another type."""
    return connection.cursor(row_factory=value_row(kind))


def value_row(kind: type[Value]) -> Callable[[Cursor[Any]], Callable[[Sequence[Any]], Value]]:
    def value(row: Sequence[Any]) -> Value:
        (only,) = row
        if not isinstance(only, kind):
            raise TypeError(f"{only!r} is no {kind.__name__}")
        return only

    return lambda _: value


def the_one(cursor: Cursor[Row]) -> Row:
    """The row of a query that has one whatever is stored."""
    row = cursor.fetchone()
    assert row is not None
    return row
