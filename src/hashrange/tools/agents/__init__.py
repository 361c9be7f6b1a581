"""Tools for AI agents, over the Model Context Protocol (`hashrange mcp`).

Texts that an agent has read may have misled it, so its calls are not trusted. No tool takes a path,
and each call is limited in what it reads, writes and returns.
"""
