"""Running and timing the programs of a history, and telling what came out."""
