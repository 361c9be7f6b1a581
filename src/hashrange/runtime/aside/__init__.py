"""Costly decisions, made aside: on a snapshot, a step at a time, while other requests go on."""
