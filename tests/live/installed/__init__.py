"""The gateway of each wheel, installed into an environment of its own."""
