from hashrange.testing import TestClock


def test_it_stands_still_until_advanced() -> None:
    clock = TestClock(1_700_000_000.0)
    assert clock.now() == clock.now() == 1_700_000_000.0
    clock.advance(0.5)
    clock.advance(-2)
    assert clock.now() == 1_699_999_998.5
