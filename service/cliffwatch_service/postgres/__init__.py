"""PostgreSQL, embedded or external: its connections, roles, schema and backups."""
