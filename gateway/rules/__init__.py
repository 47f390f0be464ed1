"""Rules: one file per concern, each a function of (request, view, catalog snapshot); no I/O."""
