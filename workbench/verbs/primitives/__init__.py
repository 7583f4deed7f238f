"""The verbs of the schedule, one a file; the file is named after the verb."""
