"""The configuration's keys: models, secrets, and how mistakes are reported."""
