"""A lab's history in a file, and where its cursor stood."""
