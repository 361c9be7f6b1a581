"""Injected faults: `drawing` chooses the fault of each request, and `unreliable` makes it
happen."""
