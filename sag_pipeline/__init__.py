"""Documents to releases: Dagster assets over pure steps."""
