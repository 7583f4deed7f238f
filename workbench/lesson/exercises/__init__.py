"""The exercises of the lessons, one a file."""
