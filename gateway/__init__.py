"""The gateway: names, rules, sessions, connections, and the processes around them."""
