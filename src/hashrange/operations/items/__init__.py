"""Operations on items by key: get, put, update, delete, and the batches of them."""
