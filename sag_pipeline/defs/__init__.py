"""What Dagster shows: assets, checks, sensors, resources."""
