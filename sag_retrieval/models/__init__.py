"""Chat and embedding models behind two interfaces."""
