"""Convert bytes of one file format to text with places."""
