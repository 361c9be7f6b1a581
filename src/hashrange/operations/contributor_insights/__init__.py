"""Contributor Insights: reports of the most accessed and most throttled keys."""
