"""Communities of events and the report written from them."""
