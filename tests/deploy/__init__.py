"""deploy/ and Containerfile: checks that need no container engine or cluster."""
