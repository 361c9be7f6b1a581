"""The placeholders of a condition or an update."""

import re
from typing import Any

from hashrange.model.values import AttributeValue, Item

_PLACEHOLDER = re.compile(r"[#:]\w+")


class Expression:
    """The placeholders for the names and values of a condition or an update."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.values: Item = {}
        self._placeholders: dict[str, str] = {}

    def adopt(self, parameters: dict[str, Any]) -> str:
        """The condition of another request, with the placeholders of this expression."""
        names = parameters.get("ExpressionAttributeNames", {})
        values = parameters.get("ExpressionAttributeValues", {})
        taken: dict[str, str] = {}

        def placeholder(match: re.Match[str]) -> str:
            text = match[0]
            if text not in taken:
                is_name = text[0] == "#"
                taken[text] = self.name(names[text]) if is_name else self.value(values[text])
            return taken[text]

        return _PLACEHOLDER.sub(placeholder, parameters["ConditionExpression"])

    def name(self, attribute: str) -> str:
        placeholder = self._placeholders.get(attribute)
        if placeholder is None:
            placeholder = self._placeholders[attribute] = f"#{len(self.names)}"
            self.names[placeholder] = attribute
        return placeholder

    def value(self, value: AttributeValue) -> str:
        placeholder = f":{len(self.values)}"
        self.values[placeholder] = value
        return placeholder

    def as_read(self, attribute: str, value: AttributeValue | None) -> str:
        """A condition that the attribute has this value or, for None, that it is absent."""
        if value is None:
            return f"attribute_not_exists({self.name(attribute)})"
        return f"{self.name(attribute)} = {self.value(value)}"

    def parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {}
        if self.names:
            parameters["ExpressionAttributeNames"] = self.names
        if self.values:
            parameters["ExpressionAttributeValues"] = self.values
        return parameters
