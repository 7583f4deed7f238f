"""Histories: programs and the steps between them, as plain data, and the files of both."""
