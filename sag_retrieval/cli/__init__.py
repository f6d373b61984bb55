"""The command line `sag`."""
