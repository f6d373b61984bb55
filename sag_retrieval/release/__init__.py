"""What readers may rely on of a release: its tables, files, arrays and the door to its SQL."""
