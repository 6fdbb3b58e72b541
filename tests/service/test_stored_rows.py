"""Rows of the store are what their classes say: every function asks the real schema once, and names and types
are compared.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pkgutil import walk_packages
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import class_row, dict_row

import cliffwatch_service.store
from cliffwatch_service.postgres import rows
from cliffwatch_service.postgres.rows import pair_row, tuple_row, value_row
from cliffwatch_service.store.history.changes import ChangeFacts
from cliffwatch_service.store.history.measured_arms import MeasuredArms
from cliffwatch_service.store.work.hosts import HostRow

MODULES = [
    import_module(module.name)
    for module in walk_packages(cliffwatch_service.store.__path__, f"{cliffwatch_service.store.__name__}.")
    if not module.ispkg
]
FUNCTIONS = [
    function
    for module in MODULES
    for name, function in inspect.getmembers(module, inspect.isfunction)
    if function.__module__ == module.__name__ and not name.startswith("_")
]
ROWS = {
    kind.__name__
    for module in MODULES
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if kind.__module__ == module.__name__ and name.endswith("Row")
}


def change_with_size() -> ChangeFacts:
    """A change has either a size or the values of both sides."""
    hints = get_type_hints(ChangeFacts)
    fields: dict[str, Any] = {
        name: None if name.endswith("_value") else made_up(hints[name]) for name in hints
    }
    return ChangeFacts(**fields)


PLAIN: Mapping[Any, Callable[[], Any]] = {
    bool: lambda: True,
    bytes: lambda: b"content",
    date: lambda: date(2026, 11, 21),
    datetime: lambda: datetime(2026, 11, 21, tzinfo=UTC),
    float: lambda: 1.5,
    int: lambda: 1,
    str: lambda: "a" * 40,
    timedelta: lambda: timedelta(minutes=1),
    Any: lambda: 1,
    object: lambda: 1,
    UUID: uuid4,
    MeasuredArms: MeasuredArms,
    ChangeFacts: change_with_size,
}
TYPES = {
    bool: {"bool"},
    bytes: {"bytea"},
    datetime: {"timestamptz"},
    float: {"float8"},
    int: {"int2", "int4", "int8"},
    str: {"text", "varchar", "name"},
    timedelta: {"interval"},
    UUID: {"uuid"},
}


def made_up(kind: Any) -> Any:
    """A value of a type that a query takes."""
    origin, of = get_origin(kind), get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]()
    if origin is Literal:
        return of[0]
    if origin in (Union, UnionType):
        return made_up(next(each for each in of if each is not NoneType))
    if origin is tuple:
        return tuple(made_up(each) for each in of if each is not Ellipsis)
    if origin in (list, Sequence):
        return [made_up(each) for each in of]
    fields_of = {} if origin is not None else get_type_hints(kind)
    return kind(**{name: made_up(each) for name, each in fields_of.items()}) if fields_of else {}


def bare(annotation: Any) -> Any:
    """The type of what is not null."""
    if get_origin(annotation) in (Union, UnionType):
        return bare(next(each for each in get_args(annotation) if each is not NoneType))
    if get_origin(annotation) is Literal:
        return type(get_args(annotation)[0])
    return annotation


def holds(annotation: Any, column: psycopg.Column) -> bool:
    """Whether values of a column can be of a field's type; what JSON holds no database knows."""
    kind, stored = bare(annotation), psycopg.adapters.types[column.type_code]
    if stored.name in ("json", "jsonb"):
        return kind not in TYPES
    if get_origin(kind) is list:
        return column.type_code == stored.array_oid and stored.name in TYPES[bare(get_args(kind)[0])]
    return column.type_code == stored.oid and stored.name in TYPES.get(kind, ())


class Asked:
    """What was asked of the database: rows of which classes, and what of them is not what their
    queries have.
    """

    def __init__(self) -> None:
        self.kinds: set[str] = set()
        self.wrong: list[str] = []

    def class_row(self, kind: Any) -> Any:
        return self._comparing(class_row(kind), kind, in_order=False)

    def tuple_row(self, make: Any) -> Any:
        return self._comparing(tuple_row(make), make.__self__, in_order=True)

    def pair_row(self, *kinds: Any) -> Any:
        return self._columns(pair_row(*kinds), *kinds)

    def value_row(self, kind: Any) -> Any:
        return self._columns(value_row(kind), kind)

    def _columns(self, real: Any, *kinds: Any) -> Any:
        def factory(cursor: Any) -> Any:
            for kind, column in zip(kinds, cursor.description or kinds, strict=True):
                if cursor.description and not holds(kind, column):
                    self.wrong.append(f"{column.name} is no {kind.__name__}: {column.type_display}")
            return real(cursor)

        return factory

    def _comparing(self, real: Any, kind: Any, *, in_order: bool) -> Any:
        def factory(cursor: Any) -> Any:
            if cursor.description is not None:
                self.kinds.add(kind.__name__)
                self.compare(kind, cursor.description, in_order=in_order)
            return real(cursor)

        return factory

    def compare(self, kind: Any, columns: Sequence[psycopg.Column], *, in_order: bool) -> None:
        """In whatever order for objects that take columns by name; others take them as they come."""
        hints = get_type_hints(kind)
        names, own = list(hints), [each.name for each in columns]
        if names != own if in_order else sorted(names) != sorted(own):
            self.wrong.append(f"{kind.__name__} has {names}, its query {own}")
            return
        self.wrong += [
            f"{kind.__name__}.{each.name} is {hints[each.name]}, its column {each.type_display}"
            for each in columns
            if not holds(hints[each.name], each)
        ]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked = Asked()
    for name in ("class_row", "tuple_row", "pair_row", "value_row"):
        monkeypatch.setattr(rows, name, getattr(asked, name))
    return asked


@pytest.fixture
def connection(database: str) -> Iterator[Connection[Any]]:
    """A connection for which no foreign key is wrong, as arguments are made up."""
    with psycopg.connect(database, row_factory=dict_row) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.commit()
        yield connection


def ask(connection: Connection[Any], function: Any) -> None:
    hints = get_type_hints(function)
    given = {
        name: made_up(hints[name]) for name in inspect.signature(function).parameters if name != "connection"
    }
    with suppress(AssertionError):  # of a query that has a row whatever is stored: nothing is
        function(connection, **given)


def test_rows_have_the_columns_of_their_queries(connection: Connection[Any], asked: Asked) -> None:
    assert len(FUNCTIONS) > 100
    for function in FUNCTIONS:
        ask(connection, function)
        connection.rollback()

    assert asked.wrong == []
    assert ROWS - asked.kinds == set()


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ("1 AS identity, 'rome-1' AS name, 'amd-rome' AS platform, 1 AS token_id", "identity"),
        ("1 AS id, 'rome-1' AS name, 'amd-rome' AS platform", "token_id"),
        ("1 AS id, 'rome-1' AS name, 'amd-rome' AS platform, 'x' AS token_id", "text"),
    ],
)
def test_a_column_of_another_name_or_type_is_noticed(
    connection: Connection[Any], asked: Asked, columns: str, what: str
) -> None:
    with suppress(TypeError):  # what it is about at run time
        rows.row_cursor(connection, HostRow).execute(f"SELECT {columns}").fetchone()

    assert len(asked.wrong) == 1
    assert what in asked.wrong[0]


@pytest.mark.parametrize(
    ("kind", "query"), [(int, "SELECT 'one'"), (str, "SELECT NULL::text"), (bool, "SELECT 1")]
)
def test_a_value_of_another_type_is_refused(database: str, kind: Any, query: str) -> None:
    with psycopg.connect(database) as connection, pytest.raises(TypeError, match="is no"):
        rows.values(connection, kind).execute(query).fetchone()
