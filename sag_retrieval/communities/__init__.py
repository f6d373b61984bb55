"""Communities: events grouped by the keys they share and by meaning."""
