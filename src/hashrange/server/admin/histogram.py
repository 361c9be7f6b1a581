"""The buckets of histograms of seconds."""

SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
"""The upper bounds of the buckets, except the last bucket, which has no upper bound."""


def cumulated(buckets: list[int]) -> list[tuple[str, float]]:
    """Cumulative buckets, as in Prometheus: the number of values at or below each bound."""
    total, cumulative = 0, []
    for bound, number in zip((*map(str, SECONDS), "+Inf"), buckets, strict=True):
        total += number
        cumulative.append((bound, float(total)))
    return cumulative
