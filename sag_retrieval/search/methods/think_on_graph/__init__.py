"""Think-on-Graph: seeds, beam search over triples, and documents scored by the paths to them."""
