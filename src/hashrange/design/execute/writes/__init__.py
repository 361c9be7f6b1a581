"""Preparing and committing writes: keys, markers, copies and transactions."""
