"""Records, settings, options, errors and plug-ins that every other package uses."""
