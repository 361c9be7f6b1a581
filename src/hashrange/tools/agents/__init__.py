"""Tools for AI agents, over the Model Context Protocol (`hashrange mcp`).

An agent may have been misled by what it has read, so its calls are not trusted: no tool takes a
path, and what a call reads, writes and returns is bounded.
"""
