"""The configuration's file: read, and checked as a whole."""
