"""Backups and moments of tables, with other random writes each time: all come back exactly.

`HASHRANGE_SOAK=1` restores 20,000 of them.
"""

import pytest
from backed_up import Server, backups_while_others_write, moments_come_back
from small import small_steps

from .runs import chance, times

__all__ = ["small_steps"]  # a fixture
RESTORES = times(20, 20_000)


@pytest.mark.deep
@pytest.mark.usefixtures("small_steps")
def test_all_come_back() -> None:
    restored = 0
    with chance() as random:
        while restored < RESTORES:
            restored += backups_while_others_write(Server(), random)
            restored += moments_come_back(Server(), random)
    print(f"{restored} backups and moments came back")
