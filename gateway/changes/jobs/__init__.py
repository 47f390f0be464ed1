"""Background jobs: any process finishes the changes that a process has begun."""
