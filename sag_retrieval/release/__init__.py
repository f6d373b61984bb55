"""The format of a release on disk: tables, files, arrays and the SQL sandbox."""
