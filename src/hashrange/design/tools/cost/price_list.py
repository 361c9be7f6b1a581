"""Prices of a region, from a dated file that a user can replace."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from hashrange.design.errors import DesignError

NAMES = (
    "on_demand_reads", "on_demand_writes", "provisioned_reads", "provisioned_writes",
    "storage", "recovery", "backups", "stream_reads",
)  # fmt: skip


class NoPrices(DesignError):
    """There is no price file for the region, or the file cannot be used."""


@dataclass(frozen=True)
class Price:
    """A price: `per` units cost `usd` dollars. `confirmed` says whether a second source agrees."""

    usd: float
    per: float
    unit: str
    source: str
    confirmed: bool

    def of(self, units: float) -> float:
        return units / self.per * self.usd

    def __str__(self) -> str:
        doubt = "" if self.confirmed else "; unconfirmed"
        return f"${self.usd:g} for {self.per:,.0f} {self.unit} ({self.source}{doubt})"


@dataclass(frozen=True)
class Prices:
    region: str
    date: str
    items: Mapping[str, Price]

    def __getitem__(self, name: str) -> Price:
        return self.items[name]


def prices_of(region: str, file: Path | None = None) -> Prices:
    """The prices in `file` or, without a file, the package's prices for the region.

    Raises NoPrices.
    """
    if file is not None:
        try:
            text, name = file.read_text(), str(file)
        except OSError as error:
            raise NoPrices(f"{file}: {error.strerror}") from error
    else:
        folder = files("hashrange.design.tools.cost") / "prices"
        known = [path.name.removesuffix(".toml") for path in folder.iterdir()]
        if region not in known:
            names = ", ".join(sorted(known))
            raise NoPrices(f"no prices for {region} (known: {names}): give a file of prices")
        name = region
        text = (folder / f"{region}.toml").read_text()
    try:
        listed = tomllib.loads(text)
        items = {item: _price(listed[item]) for item in NAMES}
        return Prices(str(listed["region"]), str(listed["date"]), items)
    except KeyError as error:
        raise NoPrices(f"{name}: {error.args[0]} is missing") from error
    except (tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise NoPrices(f"{name}: {error}") from error


def _price(listed: Mapping[str, Any]) -> Price:
    usd, per = float(listed["usd"]), float(listed["per"])
    if usd < 0 or per <= 0:
        raise ValueError(f'"usd" must be at least 0, and "per" above 0; they are {usd} and {per}')
    return Price(usd, per, str(listed["unit"]), str(listed["source"]), bool(listed["confirmed"]))
