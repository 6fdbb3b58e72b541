"""The database roles and their privileges."""

import psycopg
from psycopg import sql

OWNER, APPLICATION, READER = "cliffwatch_owner", "cliffwatch_application", "cliffwatch_reader"
DASHBOARDS = "cliffwatch_dashboards"
DASHBOARD_SCHEMA = "dashboard"

_GRANTS = f"""
GRANT USAGE ON SCHEMA public TO {APPLICATION}, {READER};
GRANT SELECT ON ALL TABLES IN SCHEMA public TO {READER};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {APPLICATION};
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {APPLICATION};
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO {APPLICATION};
"""


_NEVER_READ = ("token", "audit", "procrastinate_jobs", "github_job_token", "subscription", "news_delivery")
"""Tables that readers may not read: permissions and pending work."""

_NEVER_CHANGED = (
    *(
        "boot",
        "boot_document",
        "raw_output",
        "raw_piece",
        "columns",
        "series",
        "benchmark_case",
        "environment",
        "kernel",
    ),
    *("point", "anchor_point", "audit", "triage", "request_file"),
)
_NEVER_DELETED = (
    *(
        "run",
        "arm",
        "boot",
        "boot_document",
        "columns",
        "series",
        "benchmark_case",
        "environment",
        "kernel",
        "revision",
    ),
    *("audit", "triage", "token"),
)
"""Tables of measurements and audits that the application may not update or delete: injected SQL cannot change
samples. Runs and arms may not be deleted either, since their boots would go with them."""


def make_roles(connection: psycopg.Connection) -> bool:
    """Creates the three roles, or uses those that an administrator created and granted to this user.

    Returns False if neither is possible: everything then belongs to this user, and nothing is granted.
    """
    try:
        with connection.transaction():
            for role in (OWNER, APPLICATION, READER):
                if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone() is None:
                    connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(sql.Identifier(role)))
                _join(connection, role)
    except psycopg.errors.InsufficientPrivilege:
        return False
    return True


def _join(connection: psycopg.Connection, role: str) -> None:
    """Lets this user act as a role.

    Raises InsufficientPrivilege if that is not allowed and the user is no member yet. A user who created a
    role may grant it to itself. An administrator may have granted it already.
    """
    try:
        with connection.transaction():
            connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(role)))
    except psycopg.errors.InsufficientPrivilege:
        if not _is_member(connection, role):
            raise


def let_owner_create(connection: psycopg.Connection) -> None:
    """Lets the owner role create objects and schemas in this database.

    Raises psycopg.errors.InsufficientPrivilege.
    """
    database = sql.Identifier(connection.info.dbname)
    connection.execute(f"GRANT ALL ON SCHEMA public TO {OWNER}")
    connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO {}").format(database, sql.Identifier(OWNER)))


def may_act_as_owner(connection: psycopg.Connection) -> bool:
    """Whether this user may act as the owner role."""
    return _is_member(connection, OWNER)


def _is_member(connection: psycopg.Connection, role: str) -> bool:
    query = "SELECT 1 FROM pg_roles WHERE rolname = %s AND pg_has_role(current_user, oid, 'MEMBER')"
    return connection.execute(query, [role]).fetchone() is not None


def grant(connection: psycopg.Connection) -> None:
    """Grants the roles their rights on the tables of the present schema."""
    connection.execute(_GRANTS)
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    there = {row[0] for row in rows}
    for act, tables, role in (
        ("UPDATE", _NEVER_CHANGED, APPLICATION),
        ("DELETE", _NEVER_DELETED, APPLICATION),
        ("SELECT", _NEVER_READ, READER),
    ):
        for table in sorted(there & set(tables)):
            connection.execute(
                sql.SQL("REVOKE {} ON {} FROM {}").format(
                    sql.SQL(act), sql.Identifier(table), sql.Identifier(role)
                )
            )


def grant_dashboards(connection: psycopg.Connection) -> None:
    """Lets the dashboards' role read their views and nothing else.

    Creates the role if this user may; otherwise an administrator creates it, and the next migration grants.
    """
    role, schema = sql.Identifier(DASHBOARDS), sql.Identifier(DASHBOARD_SCHEMA)
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [DASHBOARDS]).fetchone() is None:
        try:
            with connection.transaction():
                connection.execute(sql.SQL("CREATE ROLE {} NOLOGIN").format(role))
        except psycopg.errors.InsufficientPrivilege:
            return
    connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(schema, role))
    views = connection.execute(
        "SELECT viewname FROM pg_views WHERE schemaname = %s", [DASHBOARD_SCHEMA]
    ).fetchall()
    for (view,) in views:
        name = sql.Identifier(DASHBOARD_SCHEMA, view)
        connection.execute(sql.SQL("GRANT SELECT ON {} TO {}").format(name, role))
