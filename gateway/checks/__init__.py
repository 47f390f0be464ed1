"""What can be said of a configuration without serving."""
