"""Reading text: words, sentences, lines; the same for documents and queries."""
