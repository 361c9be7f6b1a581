"""Responses that know what their requests consumed, for a log of requests."""

from hashrange.engine.capacity import Receipt


class Metered(bytes):
    """The body of a response, with the units that the request read and wrote."""

    read_units: float
    write_units: float


def metered(body: bytes, receipt: Receipt) -> Metered:
    found = Metered(body)
    found.read_units = sum(each.units for each in receipt.charges if not each.written)
    found.write_units = sum(each.units for each in receipt.charges if each.written)
    return found
