"""Whether a database is sound.

integrity  compares all indexes and counters with the items: `hashrange check`
scrubber   does so in the background, slowly
health     whether the store can be read and written now
"""
