"""The layer between operations and rows: it reads items, decides writes, and computes rows, index
entries and capacity."""
