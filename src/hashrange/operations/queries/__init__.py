"""Query and Scan: pages of items."""
