"""Injected faults: `drawing` chooses the fault of each request, `unreliable` carries it out."""
