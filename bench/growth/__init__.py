"""How the gateway's cost grows with what there is more of: ``make bench-growth``."""
