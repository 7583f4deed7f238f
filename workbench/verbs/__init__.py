"""The verbs of a schedule: one a file in `primitives`, and beside it what they share."""
