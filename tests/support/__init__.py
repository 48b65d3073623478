"""What the black-box tests share: a real server in a home of its own, a fault proxy, and the invariants."""
