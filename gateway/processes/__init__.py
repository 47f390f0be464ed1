"""Processes: the supervisor, its workers, and what passes between them."""
