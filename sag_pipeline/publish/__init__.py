"""The only writer of releases: tables to DuckDB, Arrow rows, arrays, Lance and a manifest, switched by one rename."""
