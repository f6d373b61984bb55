"""The Parquet tables of the pipeline and the ledger that says which rows are current."""
