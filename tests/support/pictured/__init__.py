"""Every number and name in the pictures of a program, held against a plain log of its threads."""
