"""Decides costly requests on a snapshot, step by step, without delaying other requests."""
