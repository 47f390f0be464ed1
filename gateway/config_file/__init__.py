"""The configuration's file: read, and judged as a whole."""
