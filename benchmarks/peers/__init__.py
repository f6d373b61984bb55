"""Other retrieval packages, each in its own environment, beside `sag` on the same passages, vectors and model."""
