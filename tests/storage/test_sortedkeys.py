"""Sorted keys, compared with a plain sorted list; buckets are so small that all split."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange.storage import sortedkeys
from hashrange.storage.sortedkeys import SortedKeys

small_keys = st.sampled_from([bytes([number]) for number in range(24)])


@pytest.fixture(scope="module", autouse=True)
def small_buckets() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sortedkeys, "_BUCKET_KEYS_MAX", 3)
        yield


@given(st.lists(small_keys, max_size=80), small_keys, small_keys | st.none(), st.booleans())
def test_it_behaves_as_a_sorted_list(
    toggled: list[bytes], start: bytes, end: bytes | None, reverse: bool
) -> None:
    """Each key is added if it is absent, and removed otherwise."""
    ours, model = SortedKeys(), set[bytes]()
    for key in toggled:
        if key in model:
            ours.remove(key)
        else:
            ours.add(key)
        model ^= {key}
        expected = sorted(k for k in model if k >= start and (end is None or k < end))
        assert list(ours.between(start, end, reverse)) == expected[:: -1 if reverse else 1]


def test_buckets_stay_short() -> None:
    ours = SortedKeys()
    for number in range(1_000):
        ours.add(number.to_bytes(2, "big"))
    assert max(map(len, ours._buckets)) <= 3
