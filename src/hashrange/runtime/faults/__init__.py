"""Faults on purpose: `drawing` chooses the fault of each request, `unreliable` carries it out."""
