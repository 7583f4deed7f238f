"""Schedules: a history of programs, and the verbs that make the next one."""
