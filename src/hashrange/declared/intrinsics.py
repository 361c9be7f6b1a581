"""CloudFormation's intrinsic functions, if the template alone determines their results.

Parameters have their default values, and pseudo parameters have the values of a hashrange server.
Source: the "Intrinsic function reference" and "Pseudo parameters reference" of CloudFormation's
user guide.
"""

import re
from typing import Any

from hashrange.declared.documents import Json, Unresolved, unresolved
from hashrange.formats.items import DataError
from hashrange.model.caller import DEFAULT_ACCOUNT, DEFAULT_REGION

PSEUDO = {
    "AWS::AccountId": DEFAULT_ACCOUNT,
    "AWS::Partition": "aws",
    "AWS::Region": DEFAULT_REGION,
    "AWS::URLSuffix": "amazonaws.com",
}
_VARIABLE = re.compile(r"\$\{(!?)([^}]*)\}")
_NO_VALUE = object()


class Intrinsics:
    """Resolves the values of one template. `stack` is the stack's name, if the file has it."""

    def __init__(self, template: Json, stack: str | None = None) -> None:
        self._pseudo = PSEUDO | ({"AWS::StackName": stack} if stack else {})
        self._parameters = _section(template, "Parameters")
        self._mappings = _section(template, "Mappings")
        self._conditions = _section(template, "Conditions")
        self._outcomes: dict[str, Any] = {}

    def resolved(self, value: Any) -> Any:
        """The value with every function replaced by its result, or by an `Unresolved`."""
        try:
            return self._value(value)
        except RecursionError:
            raise DataError("its functions are nested too deeply") from None

    def condition(self, name: Any) -> Any:
        """Whether a condition of the template is true: a boolean, or `Unresolved`."""
        if not isinstance(name, str) or name not in self._conditions:
            return Unresolved(f"the condition {name}")
        if name not in self._outcomes:
            self._outcomes[name] = Unresolved(f"the condition {name} (it refers to itself)")
            self._outcomes[name] = self._truth(self._conditions[name])
        return self._outcomes[name]

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            parts = [self._value(part) for part in value]
            return [part for part in parts if part is not _NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            [(name, argument)] = value.items()
            if name == "Ref":
                return self._ref(argument)
            if isinstance(name, str) and name.startswith("Fn::"):
                return self._call(name.removeprefix("Fn::"), argument)
        members = {name: self._value(part) for name, part in value.items()}
        return {name: part for name, part in members.items() if part is not _NO_VALUE}

    def _ref(self, name: Any) -> Any:
        if name == "AWS::NoValue":
            return _NO_VALUE
        if not isinstance(name, str):
            return Unresolved("a Ref")
        if name in self._pseudo:
            return self._pseudo[name]
        parameter = self._parameters.get(name)
        if isinstance(parameter, dict) and "Default" in parameter:
            default = parameter["Default"]
            listed = "List" in str(parameter.get("Type")) and isinstance(default, str)
            return default.split(",") if listed else default
        return Unresolved(f"!Ref {name}")

    def _call(self, name: str, argument: Any) -> Any:
        if name == "If":
            return self._if(argument)
        if name in ("Equals", "And", "Or", "Not"):
            return self._truth({f"Fn::{name}": argument})
        function = getattr(self, f"_{name.lower()}", None) if name in _FUNCTIONS else None
        if function is None:
            return Unresolved(f"!{name} {_shown(argument)}")
        argument = argument if name == "Sub" else self._value(argument)
        if unknown := unresolved(argument):
            return unknown
        try:
            return function(argument)
        except (LookupError, TypeError, ValueError, AttributeError):
            return Unresolved(f"!{name} {_shown(argument)}")

    def _if(self, argument: Any) -> Any:
        if not isinstance(argument, list) or len(argument) != 3:
            return Unresolved("!If")
        holds = self.condition(argument[0])
        return holds if isinstance(holds, Unresolved) else self._value(argument[1 + (not holds)])

    def _truth(self, value: Any) -> Any:
        """Whether `value`, a function in a condition, is true: a boolean, or `Unresolved`."""
        name, argument = next(iter(value.items())) if _is_function(value) else ("", None)
        if name == "Condition":
            return self.condition(argument)
        if name == "Fn::Equals" and isinstance(argument, list) and len(argument) == 2:
            both = self._value(argument)
            return unresolved(both) or _text(both[0]) == _text(both[1])
        if name in ("Fn::And", "Fn::Or", "Fn::Not") and isinstance(argument, list) and argument:
            outcomes = [self._truth(part) for part in argument]
            decisive = name == "Fn::Or"
            if name != "Fn::Not" and decisive in outcomes:
                return decisive
            if unknown := unresolved(outcomes):
                return unknown
            return not outcomes[0] if name == "Fn::Not" else not decisive
        return Unresolved(f"a condition {_shown(value)}")

    def _sub(self, argument: Any) -> Any:
        text, values = argument if isinstance(argument, list) else (argument, {})
        missing: list[Unresolved] = []

        def replaced(match: re.Match[str]) -> str:
            name = match[2].strip()
            if match[1]:
                return f"${{{name}}}"
            value = self._value(values[name]) if name in values else self._ref(name)
            if isinstance(value, Unresolved):
                missing.append(Unresolved(f"${{{name}}}"))
            return _text(value)

        result = _VARIABLE.sub(replaced, text)
        return missing[0] if missing else result

    def _join(self, argument: Any) -> str:
        delimiter, parts = argument
        return str(delimiter).join(_text(part) for part in parts)

    def _select(self, argument: Any) -> Any:
        return argument[1][int(argument[0])]

    def _split(self, argument: Any) -> list[str]:
        delimiter, text = argument
        return list(text.split(delimiter))

    def _findinmap(self, argument: Any) -> Any:
        name, first, second = argument[:3]
        return self._mappings[name][_text(first)][_text(second)]


_FUNCTIONS = ("Sub", "Join", "Select", "Split", "FindInMap")


def _section(template: Json, name: str) -> Json:
    section = template.get(name)
    return section if isinstance(section, dict) else {}


def _is_function(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1


def _text(value: Any) -> str:
    """A scalar as CloudFormation writes it into a string."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(argument: Any) -> str:
    """The argument of a function for a message: `Stream.Arn` for `[Stream, Arn]`."""
    if isinstance(argument, list) and all(isinstance(part, str) for part in argument):
        return ".".join(argument)
    return argument if isinstance(argument, str) else "of several parts"
