"""The database server: embedded or named, its connections, its schema and its backup."""
