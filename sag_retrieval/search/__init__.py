"""Search: from a query over keys and events to the chunks that answer it."""
