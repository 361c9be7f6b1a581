"""Addresses and animals: hierarchies, and an index that several kinds of facts share."""

from datetime import date
from typing import Annotated, Protocol

from hashrange import design as st


class Address(st.Item):
    key = st.key("address#{address_id}", "info")
    by_place = st.index("index1", "addresses", "{city}:{district}:{street}:{number:05d}")

    address_id: st.Slug
    city: str
    district: str
    street: str
    number: int


class Dog(st.Item):
    key = st.key("animal#{animal_id}", "info")
    by_command = st.index("index1", "animals", "dog:command:{command}:{animal_id}")
    by_birthday = st.index("index2", "birthdays", "dog:{born}:{animal_id}")

    animal_id: st.Slug
    command: str
    born: date


class Cat(st.Item):
    key = st.key("animal#{animal_id}", "info#cat")
    by_tree = st.index("index1", "animals", "cat:treeclimbed:{tree}:{animal_id}")
    by_birthday = st.index("index2", "birthdays", "cat:{born}:{animal_id}")

    animal_id: st.Slug
    tree: str
    born: date


class Parrot(st.Item):
    key = st.key("animal#{animal_id}", "info#parrot")
    by_words = st.index("index1", "animals", "parrot:words:{words:06d}:{animal_id}")

    animal_id: st.Slug
    words: int


class Animals(st.Store, Protocol):
    def addresses(
        self, city: str, district: str | None = None, street: str | None = None
    ) -> st.Query[Address]:
        """Get the addresses of a city, of a district, or of a street"""
        ...

    def dogs(self) -> st.Query[Dog]:
        """Get all dogs by the commands that they follow"""
        ...

    def dogs_that(self, command: str) -> st.Query[Dog]:
        """Get the dogs that follow a command"""
        ...

    def cats(self) -> st.Query[Cat]:
        """Get all cats by the trees they climb"""
        ...

    def parrots_between(self, words: st.Between[int]) -> st.Query[Parrot]:
        """Get the parrots that know a number of words between two bounds"""
        ...

    def parrots_above(self, words: st.After[int]) -> st.Query[Parrot]:
        """Get the parrots that know more than a number of words"""
        ...

    def parrots_below(self, words: st.Before[int]) -> st.Query[Parrot]:
        """Get the parrots that know fewer than a number of words"""
        ...

    def dogs_born(
        self,
        since: Annotated[date, st.at_least("born")],
        until: Annotated[date, st.before("born")],
    ) -> st.Query[Dog]:
        """Get the dogs that were born in a period"""
        ...

    def cats_born(
        self,
        since: Annotated[date, st.at_least("born")],
        until: Annotated[date, st.before("born")],
    ) -> st.Query[Cat]:
        """Get the cats that were born in a period"""
        ...


table = st.Table(
    "animals",
    Animals,
    index_keys={"index1": ("index1pk", "index1sk"), "index2": ("index2pk", "index2sk")},
)
