"""Compares the costs of two models' calls: requests, capacity units and written copies."""

from collections.abc import Sequence

from hashrange.design.tools.cost.report import Cost, aligned


def compare(first: Sequence[Cost], second: Sequence[Cost], names: tuple[str, str]) -> str:
    """A table, as text, with a row for each call, i.e. for each pattern or write by its name.

    For each model, columns show the requests of one call, its read and write units, and the copies
    that it writes. `names` are the names of the two models.
    """
    sides = [_by_call(first), _by_call(second)]
    head = ["call"]
    for letter in "AB":
        head += [f"{letter}: requests", "reads", "writes", "copies"]
    rows = [head]
    for call in dict.fromkeys([*sides[0], *sides[1]]):
        cells = [call]
        for side in sides:
            cells += side.get(call, ["-", "-", "-", "-"])
        rows.append(cells)
    lines = [f"A: {names[0]}", f"B: {names[1]}", *aligned(rows)]
    for text, attribute in (("on demand", "on_demand_usd"), ("provisioned", "provisioned_usd")):
        sums = [sum(getattr(cost, attribute) for cost in costs) for costs in (first, second)]
        lines.append(f"{text}: A ${sums[0]:,.2f}, B ${sums[1]:,.2f} a month (estimate)")
    stored = [sum(cost.stored_bytes for cost in costs) / 1024**3 for costs in (first, second)]
    lines.append(f"stored: A {stored[0]:,.3f} GB, B {stored[1]:,.3f} GB")
    return "\n".join(lines)


def _by_call(costs: Sequence[Cost]) -> dict[str, list[str]]:
    return {
        line.name: [
            f"{line.requests:g}",
            f"{line.read_units:g}",
            f"{line.write_units:g}",
            f"{line.copies:g}",
        ]
        for cost in costs
        for line in cost.lines
    }
