"""ACLs, and the SCRAM credentials of users: requests, and ACLs that go along with names."""
