"""Ways to search beside SAG: hybrid, Think-on-Graph, tiers."""
