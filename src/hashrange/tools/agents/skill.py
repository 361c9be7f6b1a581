"""The skill: a text that tells an agent how to design with the toolkit."""

from importlib.resources import files


def skill() -> str:
    """Tells how to design DynamoDB tables with the toolkit."""
    return (files(__package__) / "SKILL.md").read_text(encoding="utf-8")
