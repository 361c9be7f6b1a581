"""The layer between operations and rows: it reads items, decides writes, and derives rows, index
entries and capacity."""
