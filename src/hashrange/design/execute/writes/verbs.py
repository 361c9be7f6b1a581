"""The verbs of stores, transactions and batches, such as `put` and `add`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hashrange.design.declare.amounts import Amounts, all_amounts
from hashrange.design.declare.item import Item
from hashrange.design.declare.typed_conditions import Where
from hashrange.design.execute.reads.pattern_calls import BoundPattern, bind
from hashrange.design.execute.writes.condition_checks import expect_where

NO_VALUES: Mapping[str, Any] = {}


class Write(NamedTuple):
    """A call of a verb, such as `put` or `add`.

    The write concerns `item` or, if it is None, the item that the pattern `bound` names by its
    arguments. `values` has the parameters of the condition `where`, and the amounts, members or
    elements of a verb such as `add`. `change` is the function with which `update` changes the item.
    `place` is (path in the item, value to assign there).
    """

    verb: str
    item: Item | None = None
    where: Where | None = None
    values: Mapping[str, Any] = NO_VALUES
    bound: BoundPattern | None = None
    change: Callable[[Any], object] | None = None
    place: tuple[str, Any] = ("", None)


class Verbs:
    """The verbs, documented in `declare/protocols`. Each turns its arguments into a `Write`.

    A subclass defines `_take`, which carries out or collects the `Write`.
    """

    def _take(self, write: Write) -> Any:
        raise NotImplementedError

    def put(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Any:
        return self._whole("put", item, where, values)

    def create(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Any:
        return self._whole("create", item, where, values)

    def save(self, item: Item, /, *, where: Where | None = None, **values: Any) -> Any:
        return self._whole("save", item, where, values)

    def _whole(self, verb: str, item: Item, where: Where | None, values: Mapping[str, Any]) -> Any:
        expect_where(where, values)
        return self._take(Write(verb, item, where, values))

    def update(
        self, get: Any, change: Callable[[Any], object], /, *args: Any, **kwargs: Any
    ) -> Any:
        return self._take(Write("update", bound=bind(get, args, kwargs), change=change))

    def add(
        self,
        item: Item,
        by: Amounts[Any] | None = None,
        /,
        *,
        where: Where | None = None,
        **amounts: Any,
    ) -> Any:
        return self._take(Write("add", item, where, all_amounts(item, by, amounts)))

    def add_or_create(self, item: Item, by: Amounts[Any] | None = None, /, **amounts: Any) -> Any:
        return self._take(Write("add_or_create", item, None, all_amounts(item, by, amounts)))

    def discard(self, item: Item, /, *, where: Where | None = None, **members: Any) -> Any:
        return self._take(Write("discard", item, where, members))

    def append(self, item: Item, /, *, where: Where | None = None, **elements: Any) -> Any:
        return self._take(Write("append", item, where, elements))

    def assign(
        self,
        item: Item,
        path: str,
        value: Any,
        /,
        *,
        where: Where | None = None,
        **values: Any,
    ) -> Any:
        expect_where(where, values)
        return self._take(Write("assign", item, where, values, place=(path, value)))

    def delete(self, what: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(what, Item):
            return self._whole("delete", what, kwargs.pop("where", None), kwargs)
        return self._take(Write("delete", bound=bind(what, args, kwargs)))
