"""What was measured: run the files of this folder as scripts."""
