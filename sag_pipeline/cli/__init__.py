"""The commands of the pipeline."""
