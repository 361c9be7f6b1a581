"""Between operations and rows: fetch reads, writes decide, changes derive rows and capacity."""
