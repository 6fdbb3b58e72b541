"""Rows of queries as objects.

Each kind of row is a class whose fields have the names of the query's columns.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from psycopg import Connection, Cursor
from psycopg.rows import class_row

Row = TypeVar("Row")
Value = TypeVar("Value")


def row_cursor(connection: Connection[Any], kind: type[Row]) -> Cursor[Row]:
    """Returns a cursor whose rows are of this class. Raises TypeError if the columns and fields differ."""
    return connection.cursor(row_factory=class_row(kind))


def tuple_cursor(connection: Connection[Any], make: Callable[[Iterable[Any]], Row]) -> Cursor[Row]:
    """Returns a cursor that is fast enough for thousands of rows.

    `make` builds a named tuple or a struct whose fields are the columns in their order. Raises TypeError if
    the number of columns differs.
    """
    return connection.cursor(row_factory=tuple_row(make))


def tuple_row(
    make: Callable[[Iterable[Any]], Row],
) -> Callable[[Cursor[Any]], Callable[[Iterable[Any]], Row]]:
    return lambda _: make


def values(connection: Connection[Any], kind: type[Value]) -> Cursor[Value]:
    """Returns a cursor over the values of a single column. Raises TypeError for a value of another type."""
    return connection.cursor(row_factory=value_row(kind))


def pairs(connection: Connection[Any], first: type[Row], second: type[Value]) -> Cursor[tuple[Row, Value]]:
    """Returns a cursor over rows of two columns of these types, such as names with their numbers."""
    return connection.cursor(row_factory=pair_row(first, second))


def pair_row(
    first: type[Row],  # noqa: ARG001 - a test compares the types with the columns
    second: type[Value],  # noqa: ARG001 - as above
) -> Callable[[Cursor[Any]], Callable[[Iterable[Any]], tuple[Row, Value]]]:
    return lambda _: lambda row: cast("tuple[Row, Value]", tuple(row))


def value_row(kind: type[Value]) -> Callable[[Cursor[Any]], Callable[[Sequence[Any]], Value]]:
    def value(row: Sequence[Any]) -> Value:
        (only,) = row
        if not isinstance(only, kind):
            raise TypeError(f"{only!r} is not of type {kind.__name__}")
        return only

    return lambda _: value


def fetch_single_row(cursor: Cursor[Row]) -> Row:
    """Returns the row of a query that always has one."""
    row = cursor.fetchone()
    assert row is not None
    return row
