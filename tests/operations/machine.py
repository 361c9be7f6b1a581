"""Random operations, compared with an oracle of plain dicts.

After every step every index and every counter equals its recomputation, and every table and
index reads as the oracle says.
"""

from collections.abc import Sequence
from typing import Any

import capacity
import drawn
import msgspec
import oracle
import pytest
from drawn import EXTRA, FIRST, Placeholders, Request
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from oracle import Condition, Item, Refused, Table, Value, View, Write, plain

from hashrange import kv
from hashrange.engine import fetch
from hashrange.engine.keyspace import keys, system
from hashrange.model.errors import ApiError
from hashrange.model.tables import Table as Definition
from hashrange.runtime import source
from hashrange.runtime.awaited.runtime import AsyncRuntime
from hashrange.runtime.threaded.runtime import Runtime
from hashrange.upkeep.integrity import problems
from hashrange.upkeep.upkeep import Upkeep

TABLES = st.sampled_from([0, 1, 0])
DATA = st.data()


def in_some_order(items: Sequence[Item]) -> list[str]:
    return sorted(repr(sorted(item.items())) for item in items)


class Operations(RuleBasedStateMachine):
    """`open` gives a store that is empty at first, and later the same one."""

    def open(self) -> kv.Store:
        raise NotImplementedError

    @initialize(data=DATA)
    def create_tables(self, data: st.DataObject) -> None:
        self.tables = drawn.new_tables()
        self.start()
        for table in self.tables:
            self.execute("CreateTable", drawn.create_table(table))
        for table in self.tables:
            for item in data.draw(st.lists(drawn.items(table, odd=False), max_size=8)):
                key = {name: item[name] for name in table.view.key}
                oracle.write(Write(table, key, item=item))
                self.execute("PutItem", {"TableName": table.name, "Item": item})

        self.building = False
        self.chunk_rows = fetch.CHUNK_ROWS
        fetch.CHUNK_ROWS = 3  # so that reads and index builds take several steps

    def start(self) -> None:
        self.store = self.open()
        self.runtime = self.runtime_over(self.store)
        self.upkeep = Upkeep(self.runtime)

    def runtime_over(self, store: Any) -> Runtime | AsyncRuntime:
        return Runtime(store)

    def execute(self, operation: str, request: Request) -> Any:
        """The response. What the request consumes is compared with its explanation."""
        if operation not in capacity.MEASURED:
            return self.answer(operation, request)
        request = {**request, "ReturnConsumedCapacity": "INDEXES"}
        explained = self.runtime.explain(operation, msgspec.json.encode(request))
        response = self.answer(operation, request)
        assert capacity.consumed(response.pop("ConsumedCapacity", [])) == capacity.explained(
            explained
        )
        return response

    def answer(self, operation: str, request: Request) -> Any:
        return msgspec.json.decode(self.runtime.call(operation, msgspec.json.encode(request)))

    def refused_alike(self, operation: str, request: Request, refusal: Refused) -> None:
        with pytest.raises(ApiError) as caught:
            self.execute(operation, request)
        error = caught.value
        reasons = [reason["Code"] for reason in error.members.get("CancellationReasons", ())]
        assert (error.code, reasons) == (refusal.code, refusal.reasons), error.message

    # ---- writes ----

    @rule(at=TABLES, data=DATA)
    def write(self, at: int, data: st.DataObject) -> None:
        write = data.draw(drawn.writes(self.tables[at], "ppuud"))
        operation, request = drawn.single(write)
        request["ReturnValues"] = "ALL_NEW" if operation == "UpdateItem" else "ALL_OLD"
        try:
            old, new = oracle.write(write)
        except Refused as refusal:
            self.refused_alike(operation, request, refusal)
            return
        shown = new if operation == "UpdateItem" else old
        expected = {"Attributes": shown} if shown else {}
        assert self.execute(operation, request) == expected
        assert self.execute("GetItem", {"TableName": write.table.name, "Key": write.key}) == (
            {"Item": new} if new else {}
        )

    @rule(data=DATA, size=st.integers(1, 8))
    def batch_write(self, data: st.DataObject, size: int) -> None:
        tables = [self.tables[data.draw(TABLES)] for _ in range(size)]
        writes = [data.draw(drawn.writes(table, "pppd", conditional=False)) for table in tables]
        wanted: dict[str, list[Request]] = {}
        for write in writes:
            wanted.setdefault(write.table.name, []).append(drawn.batch_action(write))
        try:
            oracle.batch(writes)
        except Refused as refusal:
            self.refused_alike("BatchWriteItem", {"RequestItems": wanted}, refusal)
            return
        response = self.execute("BatchWriteItem", {"RequestItems": wanted})
        assert response == {"UnprocessedItems": {}}

    @rule(data=DATA, size=st.integers(1, 5))
    def transact_write(self, data: st.DataObject, size: int) -> None:
        tables = [self.tables[data.draw(TABLES)] for _ in range(size)]
        writes = [data.draw(drawn.writes(table, "ppudc")) for table in tables]
        request = {"TransactItems": [drawn.action(write) for write in writes]}
        try:
            oracle.transact(writes)
        except Refused as refusal:
            self.refused_alike("TransactWriteItems", request, refusal)
            return
        assert self.execute("TransactWriteItems", request) == {}

    # ---- reads ----

    @rule(data=DATA)
    def batch_get(self, data: st.DataObject) -> None:
        wanted, expected = {}, {}
        for table in self.tables:
            keys_ = data.draw(
                st.lists(drawn.keys(table), min_size=1, max_size=5, unique_by=table.identity)
            )
            wanted[table.name] = {"Keys": keys_}
            expected[table.name] = [item for key in keys_ if (item := table.get(key))]
        response = self.execute("BatchGetItem", {"RequestItems": wanted})
        assert response["UnprocessedKeys"] == {}
        for name, items in expected.items():
            assert in_some_order(response["Responses"][name]) == in_some_order(items)

    @rule(at=TABLES, data=DATA)
    def transact_get(self, at: int, data: st.DataObject) -> None:
        table = self.tables[at]
        keys_ = data.draw(
            st.lists(drawn.keys(table), min_size=1, max_size=4, unique_by=table.identity)
        )
        gets = [{"Get": {"TableName": table.name, "Key": key}} for key in keys_]
        response = self.execute("TransactGetItems", {"TransactItems": gets})
        found = [table.get(key) for key in keys_]
        assert response["Responses"] == [{"Item": item} if item else {} for item in found]

    @rule(at=TABLES, data=DATA, forward=st.booleans(), limit=st.none() | st.integers(1, 4))
    def query(self, at: int, data: st.DataObject, forward: bool, limit: int | None) -> None:
        table = self.tables[at]
        view = data.draw(st.sampled_from(self.readable(table)))
        key = [("=", name, data.draw(self.key_values(table, name))) for name in view.hash]
        sort = data.draw(self.sort_conditions(table, view))
        placeholders = Placeholders()
        request: Request = {
            "TableName": table.name,
            "KeyConditionExpression": " AND ".join(map(placeholders.condition, [*key, *sort])),
            "ScanIndexForward": forward,
        }
        whole = view.local and data.draw(st.booleans())
        if whole:  # a local index fetches what it does not project
            request["Select"] = "ALL_ATTRIBUTES"
        names = "nxy" if view.shown is None else "".join(view.shown)
        names = "".join(sorted(set(names) - set(view.key)))
        filter_ = data.draw(st.none() | drawn.conditions(names)) if names else None
        if filter_:
            request["FilterExpression"] = placeholders.condition(filter_)
        rows = [row for row in table.rows(view) if all(oracle.holds(c, row) for c in [*key, *sort])]
        found = self.pages(view, "Query", request | placeholders.members(), limit, len(rows))
        if whole:
            rows = [item for row in rows if (item := table.get(row))]
        if filter_:
            rows = [row for row in rows if oracle.holds(filter_, row)]
        assert in_some_order(found) == in_some_order(rows)
        order = [[plain(item[name]) for name in view.range] for item in found]
        assert order == sorted(order, reverse=not forward)

    @rule(at=TABLES, data=DATA, segments=st.integers(1, 5), limit=st.none() | st.integers(1, 4))
    def scan(self, at: int, data: st.DataObject, segments: int, limit: int | None) -> None:
        table = self.tables[at]
        view = data.draw(st.sampled_from(self.readable(table)))
        placeholders = Placeholders()
        request: Request = {"TableName": table.name}
        filter_ = data.draw(st.none() | drawn.conditions())
        if filter_:
            request["FilterExpression"] = placeholders.condition(filter_)
        request |= placeholders.members()
        rows = table.rows(view)
        found = []
        scanned = 0
        for segment in range(segments):
            part = request | {"Segment": segment, "TotalSegments": segments}
            found += self.pages(view, "Scan", part, limit)
            scanned += self.scanned
        assert scanned == len(rows)
        if filter_:
            rows = [row for row in rows if oracle.holds(filter_, row)]
        assert in_some_order(found) == in_some_order(rows)

    def pages(
        self,
        view: View,
        operation: str,
        request: Request,
        limit: int | None,
        scanned: int | None = None,
    ) -> list[Item]:
        """All pages; LastEvaluatedKey is there exactly when Limit ended one."""
        request |= {"IndexName": view.name} if view.name else {}
        request |= {"Limit": limit} if limit else {}
        items: list[Item] = []
        self.scanned = 0
        while True:
            page = self.execute(operation, request)
            items += page["Items"]
            self.scanned += page["ScannedCount"]
            assert page["Count"] == len(page["Items"])
            assert ("LastEvaluatedKey" in page) == (page["ScannedCount"] == limit)
            if "LastEvaluatedKey" not in page:
                assert scanned is None or scanned == self.scanned
                return items
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def readable(self, table: Table) -> list[View]:
        return [
            view for view in (table.view, *table.indexes) if view is not EXTRA or not self.building
        ]

    def key_values(self, table: Table, name: str) -> st.SearchStrategy[Value]:
        return st.sampled_from(drawn.POOLS[table.types[name]][:6])

    @st.composite
    @staticmethod
    def _sort_conditions(draw: st.DrawFn, table: Table, view: View) -> list[Condition]:
        """Equality from the left, and anything on the last attribute that is used."""
        used = view.range[: draw(st.integers(0, len(view.range)))]
        made: list[Condition] = []
        for at, name in enumerate(used):
            pool = st.sampled_from(drawn.POOLS[table.types[name]])
            if at + 1 < len(used):
                made.append(("=", name, draw(pool)))
                continue
            operators = ["=", "<", "<=", ">", ">=", "BETWEEN"]
            if table.types[name] != "N":
                operators.append("begins_with")
            operator = draw(st.sampled_from(operators))
            operands = [draw(pool) for _ in range(2 if operator == "BETWEEN" else 1)]
            made.append((operator, name, *sorted(operands, key=plain)))
        return made

    def sort_conditions(self, table: Table, view: View) -> Any:
        return Operations._sort_conditions(table, view)

    # ---- an index that is created and deleted, and built in steps between other operations ----

    @rule()
    def create_or_delete_index(self) -> None:
        first = self.tables[0]
        change: Request = {"Delete": {"IndexName": EXTRA.name}}
        there = EXTRA in first.indexes
        if not there:
            first.types |= {"x": "S", "y": "S"}
            change = {"Create": drawn.index(EXTRA)}
        request = {
            "TableName": FIRST,
            "AttributeDefinitions": drawn.definitions(first, *([] if there else [EXTRA])),
            "GlobalSecondaryIndexUpdates": [change],
        }
        if there and self.building:
            self.upkeep.run_once()  # an index can be deleted from its second phase on
        self.execute("UpdateTable", request)
        self.building = not there
        first.indexes = [*first.indexes, EXTRA] if not there else first.indexes[:-1]

    @precondition(lambda self: self.building)
    @rule()
    def build(self) -> None:
        self.upkeep.run_once()
        described = self.execute("DescribeTable", {"TableName": FIRST})["Table"]
        [status] = [
            index["IndexStatus"]
            for index in described["GlobalSecondaryIndexes"]
            if index["IndexName"] == EXTRA.name
        ]
        self.building = status != "ACTIVE"

    # ---- invariants ----

    @invariant()
    def counters_and_indexes_equal_their_recomputation(self) -> None:
        found = list(problems(self.store))
        assert not found, found

    @invariant()
    def everything_reads_as_expected(self) -> None:
        for table in self.tables:
            described = self.execute("DescribeTable", {"TableName": table.name})["Table"]
            shown = {
                index["IndexName"]: index
                for member in ("LocalSecondaryIndexes", "GlobalSecondaryIndexes")
                for index in described.get(member, ())
            }
            for view in self.readable(table):
                request = {"TableName": table.name} | (
                    {"IndexName": view.name} if view.name else {}
                )
                found = self.execute("Scan", request)["Items"]
                assert in_some_order(found) == in_some_order(table.rows(view)), view
                size = "IndexSizeBytes" if view.name else "TableSizeBytes"
                of_view = shown[view.name] if view.name else described
                assert (of_view["ItemCount"], of_view[size]) == table.statistics(view), view

    @invariant()
    def collections_are_weighed(self) -> None:
        first = self.tables[0]
        snapshot = self.store.snapshot()
        value = source.row(snapshot, kv.SYSTEM_SPACE, system.table_row(FIRST))
        assert value
        space = system.decode(value, Definition).collections
        assert space is not None
        for partition in drawn.POOLS[first.types["p"]][:6]:
            stored = source.row(snapshot, space, keys.partition([partition]))
            assert system.decode_number(stored) == first.collection_size(partition)
        snapshot.close()

    def teardown(self) -> None:
        if hasattr(self, "runtime"):
            self.runtime.close()
            fetch.CHUNK_ROWS = self.chunk_rows
