"""Topics: groups of events with a title, as reports and tiers show them."""
