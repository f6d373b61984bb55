"""The only writer of releases: DuckDB tables, Arrow rows, arrays, Lance tables and a manifest."""
