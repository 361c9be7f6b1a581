"""YAML, for small fixtures: a list of items with values as in `plain`.

It is read as YAML 1.2: `yes` and `2026-11-21` are strings. Aliases are refused, because they could
expand a small file to an enormous one.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from hashrange.formats.files import Input
from hashrange.formats.items import DataError, Record, decode, encode, one_line
from hashrange.formats.plain import NotPlain, Number, from_plain, to_plain

FILE_BYTES_MAX = 64 * 1024 * 1024

_NUMBER = r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
_RESOLVERS = (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("float", _NUMBER, "-+.0123456789"),
)


def library() -> Any:
    """Import PyYAML. Raises DataError if it is not installed."""
    try:
        import yaml
    except ImportError:
        raise DataError("YAML needs PyYAML: pip install 'hashrange[yaml]'") from None
    return yaml


def read(source: Input) -> Iterator[Record]:
    yaml = library()
    text = source.read(FILE_BYTES_MAX + 1)
    if len(text) > FILE_BYTES_MAX:
        raise DataError(
            f"{source.name}: the file is larger than {FILE_BYTES_MAX:,} bytes; use JSON instead"
        )
    loader_type = loader_class(yaml)
    line = 1
    try:
        loader = loader_type(text)
        node = loader.get_single_node()
        if node is None:
            return
        if not isinstance(node, yaml.SequenceNode):
            raise NotPlain("the file is not a list of items")
        for each in node.value:
            line = each.start_mark.line + 1
            yield Record(encode(from_plain(loader.construct_document(each))), line)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else line
        problem = getattr(error, "problem", None) or error
        raise DataError(f"{source.name}:{line}: not YAML: {one_line(problem)}") from None
    except RecursionError:
        raise DataError(f"{source.name}:{line}: it is nested too deeply") from None
    except (ValueError, UnicodeDecodeError) as error:
        raise DataError(f"{source.name}:{line}: {one_line(error)}") from None
    except (LookupError, AttributeError):  # raised by PyYAML if a tag does not fit its text
        raise DataError(f"{source.name}:{line}: a tag does not fit its value") from None


def write(items: Iterable[bytes]) -> Iterator[bytes]:
    yaml = library()
    dumper = _dumper(yaml)
    empty = True
    for item in items:
        empty = False
        text: str = yaml.dump(
            [to_plain(decode(item), Number)],
            Dumper=dumper,
            allow_unicode=True,
            default_flow_style=False,
            sort_keys=False,
            width=100,
        )
        yield text.encode()
    if empty:
        yield b"[]\n"


def _resolve(yaml: Any, base: type) -> Any:
    """A subclass of `base` that gives unquoted scalars only the types of YAML 1.2."""
    made: Any = type(base.__name__, (base,), {"yaml_implicit_resolvers": {}})
    for kind, pattern, first in _RESOLVERS:
        letters = ["" if letter == "\0" else letter for letter in first]
        made.add_implicit_resolver(
            f"tag:yaml.org,2002:{kind}", re.compile(f"^(?:{pattern})$"), letters
        )
    return made


def loader_class(yaml: Any) -> Any:
    made = _resolve(yaml, yaml.SafeLoader)

    def compose(self: Any, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(
                None, None, "aliases are not supported", event.start_mark
            )
        return yaml.SafeLoader.compose_node(self, parent, index)

    made.compose_node = compose
    made.add_constructor(
        "tag:yaml.org,2002:float", lambda loader, node: Number(loader.construct_scalar(node))
    )
    return made


def _dumper(yaml: Any) -> Any:
    made = _resolve(yaml, yaml.SafeDumper)
    made.ignore_aliases = lambda self, data: True
    made.add_representer(str, _text)
    made.add_representer(
        Number, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:float", str(text))
    )
    return made


def _text(dumper: Any, text: str) -> Any:
    """A string, in quotes and with escapes if it has line breaks that PyYAML would fold into
    spaces."""
    quoted = '"' if any(letter in text for letter in "\r\x85\u2028\u2029\ufeff") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=quoted)
