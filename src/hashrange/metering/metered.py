"""The bodies of responses with the units that their requests consumed, for the access log and
metrics.
"""

from hashrange.engine.capacity import Charge, Receipt


class Metered(bytes):
    """The body of a response, with the receipt of its request."""

    receipt: Receipt | Charge

    @property
    def read_units(self) -> float:
        return sum(each.units for each in self.receipt.charges if not each.written)

    @property
    def write_units(self) -> float:
        return sum(each.units for each in self.receipt.charges if each.written)

    @property
    def tables(self) -> list[str]:
        """The names of the tables that the request used, without repetitions."""
        charges = self.receipt.charges
        if len(charges) == 1:
            return [charges[0].table.name]
        return list({each.table.name: None for each in charges})


def metered(body: bytes, receipt: Receipt | Charge) -> Metered:
    answer = Metered(body)
    answer.receipt = receipt
    return answer
