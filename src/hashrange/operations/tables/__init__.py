"""Operations on tables: definitions, tags, time to live, limits."""
