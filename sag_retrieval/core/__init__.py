"""What every other package stands on: records, settings, errors."""
