"""The command ``check``: findings about a configuration, without serving."""
