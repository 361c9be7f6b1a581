"""Calling patterns: arguments, requests, pages and results."""
