"""Scores of vectors and their bounds: exact, with and without numpy."""

import random
import sys
from typing import Any

import pytest

from hashrange.engine.vectors.blocks import Block, StoredVector
from hashrange.engine.vectors.distances import Query
from hashrange.model.floats import pack, unpack

DISTANCES = ("COSINE", "EUCLIDEAN", "DOT_PRODUCT")


def row(name: str, numbers: list[float]) -> StoredVector:
    return StoredVector(name.encode(), name.encode(), pack(numbers), ())


@pytest.mark.parametrize("scale", [1e-44, 1e-20, 1.0, 1e18, 3e38])
@pytest.mark.parametrize("distance", DISTANCES)
def test_the_bounds_hold_the_true_rank(distance: Any, scale: float) -> None:
    """Also for numbers whose products overflow or vanish in 32 bits."""
    pytest.importorskip("numpy")
    seed = random.randrange(1 << 32)
    print("seed", seed)
    generator = random.Random(seed)

    def numbers() -> list[float]:
        return [scale * generator.uniform(-1, 1) for _ in range(24)]

    rows = [row(str(number), numbers()) for number in range(200)]
    query = Query(distance, unpack(pack(numbers())))
    block = Block(rows)
    found = block.candidates(query, None, frozenset())
    closer = block.closer(query, found)
    for some in (found, closer):
        for number, low, high in zip(some.rows, some.low, some.high, strict=True):
            [score] = query.scores([rows[number].packed])
            rank = query.rank(score * score if distance == "EUCLIDEAN" else score)
            assert low <= rank <= high, (distance, number)
    assert max(closer.high - closer.low) <= max(found.high - found.low)


@pytest.mark.parametrize("distance", DISTANCES)
def test_scores_with_and_without_numpy_are_the_same(
    distance: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is rounded once, also where nearly all is cancelled."""
    pytest.importorskip("numpy")
    seed = random.randrange(1 << 32)
    print("seed", seed)
    generator = random.Random(seed)
    for _ in range(60):
        half = generator.randint(1, 200)
        scale = generator.choice([1e-44, 1e-20, 1.0, 1e18])
        signs = generator.random() < 0.5

        def numbers(count: int, scale: float = scale, signs: bool = signs) -> list[float]:
            values = (generator.uniform(-1, 1) for _ in range(count))
            return [scale * (round(value) if signs else value) for value in values]

        target = numbers(half)
        vectors = [numbers(2 * half) for _ in range(4)]
        for tiny in (0.0, 1e-7):  # products with both halves cancel
            first = numbers(half)
            vectors.append(first + [-number * (1 + tiny) for number in first])
        packed = [pack(vector) for vector in vectors]
        query = Query(distance, unpack(pack(target * 2)))
        scores = query.scores(packed)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "numpy", None)
            assert scores == query.scores(packed)


def test_a_score_just_above_halfway_between_two_numbers_is_rounded_up() -> None:
    """The third number alone decides; it is lost if the smaller two are added and rounded."""
    query = Query("DOT_PRODUCT", (1.0, 1.0, 1.0))
    vectors = [pack([2.0**30, 2.0**-23, least]) for least in (0.0, 2.0**-140)]
    assert query.scores(vectors) == [2.0**30, 2.0**30 + 2.0**-22]
