"""Operations on items by key: get, put, update, delete, and their batches."""
