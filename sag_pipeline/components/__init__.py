"""Components of Dagster: the corpus."""
