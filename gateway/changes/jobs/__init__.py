"""Background jobs: what a change has begun is finished, by whichever process is there."""
