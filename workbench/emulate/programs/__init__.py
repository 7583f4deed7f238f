"""Programs: a PrimFunc run by its meaning, one iteration after the other in effect."""
