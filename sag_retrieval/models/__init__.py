"""Language and embedding models behind two protocols."""
