"""The work of each table as pure functions of their arguments."""
