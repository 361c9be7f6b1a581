"""Between operations and rows: reads items, decides writes, derives rows, indexes and capacity."""
