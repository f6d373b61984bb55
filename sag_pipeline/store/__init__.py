"""Parquet tables of the pipeline, and the ledger that defines which rows are current."""
