"""Models as Python source: the known facts about a table, written as a module."""
