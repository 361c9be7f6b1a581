"""The monthly cost of a load that continues, by the prices of `hashrange design cost`."""

from hashrange.design.tools.cost.lines import SECONDS_PER_MONTH
from hashrange.design.tools.cost.price_list import Prices
from hashrange.runtime.prediction.outcome import Outcome

HOURS = SECONDS_PER_MONTH / 3600


def usd_a_month(outcome: Outcome, seconds: float, prices: Prices) -> float:
    """The dollars per month for the requests of an outcome, if its load, of `seconds`, is repeated
    without a pause.

    Storage is not included, because it costs the same in each scenario.
    """
    total = 0.0
    months = max(seconds, 1.0) / SECONDS_PER_MONTH
    for use in outcome.uses:
        if use.on_demand:
            total += prices["on_demand_reads"].of(use.read_units / months)
            total += prices["on_demand_writes"].of(use.write_units / months)
        else:
            read, write = use.provisioned
            total += prices["provisioned_reads"].of(read) * HOURS
            total += prices["provisioned_writes"].of(write) * HOURS
    return total
