"""Costly decisions, made aside: on a snapshot, step by step, without delaying other requests."""
