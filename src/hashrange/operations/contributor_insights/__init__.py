"""Contributor Insights: reports of the keys that are used and throttled most."""
