"""Consumer groups, their members and their offsets."""
