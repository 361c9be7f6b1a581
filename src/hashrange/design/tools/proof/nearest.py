"""Finds the nearest items by brute force, to check the results of searches."""

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from hashrange.design.declare.item import declarations
from hashrange.design.declare.patterns import TOP, Pattern
from hashrange.design.declare.types import core_type
from hashrange.design.declare.vectors import Match, Vector, Vectors
from hashrange.design.tools.proof.declared import Model, Record

TOP_MAX = 8
CLOSE = 1e-9
"""The largest difference between two scores that is explained by rounding."""


def search_question(
    pattern: Pattern, models: Sequence[Model], chance: random.Random
) -> Mapping[str, Any]:
    """The arguments of a search: a random vector, and the number of items to find."""
    assert pattern.search is not None, "the pattern must be a search"
    model, declared = _declared(pattern, models)
    dimensions = _vector_type(model, declared.field).dimensions
    vector = [chance.uniform(-1, 1) for _ in range(dimensions)]
    return {pattern.search.vector: vector, TOP: chance.randint(1, TOP_MAX)}


def difference(
    pattern: Pattern,
    models: Sequence[Model],
    records: Sequence[Record],
    arguments: Mapping[str, Any],
    matches: Sequence[Match[tuple[str, list[str]]]],
) -> str | None:
    """How the matches differ from the nearest `records`; None if they do not.

    `records` are the items that fit all arguments except the vector. In each match, `item` is a
    pair: the text of the found item, and the texts of all `records`. Items are compared by these
    texts.
    """
    assert pattern.search is not None, "the pattern must be a search"
    model, declared = _declared(pattern, models)
    attribute = _attribute(model, declared.field)
    query = [float(number) for number in arguments[pattern.search.vector]]
    scores = []
    for record in records:
        fields = {_attribute(record.model, name): name for name in record.model.model_fields}
        vector = record.values[fields[attribute]]
        scores.append(None if vector is None else _score(declared.distance, query, vector))
    order = sorted((s for s in scores if s is not None), reverse=declared.distance == "dot_product")
    wanted, got = order[: arguments[TOP]], [match.score for match in matches]
    if len(got) != len(wanted) or not all(map(_close, got, wanted)):
        return f"the scores {got} instead of {wanted}"
    for match in matches:
        text, texts = match.item
        same = [s for s, one in zip(scores, texts, strict=True) if s is not None and one == text]
        if not any(_close(match.score, score) for score in same):
            return f"the score {match.score} for {text}"
    return None


def _declared(pattern: Pattern, models: Sequence[Model]) -> tuple[Model, Vectors]:
    """(class, declaration) of the vector index that the pattern searches."""
    candidates = [
        (model, declared)
        for model in models
        for declared in declarations(model).values()
        if isinstance(declared, Vectors) and pattern.facts.using in (None, declared.name)
    ]
    return next((one for one in candidates if one[0] in pattern.entities), candidates[0])


def _attribute(model: Model, field: str) -> str:
    info = model.model_fields[field]
    return info.serialization_alias or info.alias or field


def _vector_type(model: Model, field: str) -> Vector:
    info = model.model_fields[field]
    metadata = [*info.metadata]
    core_type(info.annotation, metadata)
    return next(one for one in metadata if isinstance(one, Vector))


def _score(distance: str, one: Sequence[float], other: Sequence[float]) -> float:
    if distance == "euclidean":
        return math.dist(one, other)
    dot = math.fsum(a * b for a, b in zip(one, other, strict=True))
    if distance == "dot_product":
        return dot
    lengths = math.hypot(*one) * math.hypot(*other)
    return 1 - dot / lengths if lengths else 1.0


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
