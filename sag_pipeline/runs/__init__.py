"""Runs of jobs: steps in batches, progress, alerts, status, maintenance."""
