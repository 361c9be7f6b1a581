"""What a model declares: items, keys, indexes, access patterns, and the numbers behind them."""
