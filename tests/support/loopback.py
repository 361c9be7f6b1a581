"""An address for servers that cannot choose a free port themselves."""

import os


def own_address() -> str:
    """A loopback address that no other process of this machine uses: all its ports are free.

    A port that was free a moment ago may be taken by now.
    """
    high, low = divmod(os.getpid(), 250 * 250)
    return f"127.{high + 1}.{low // 250 + 1}.{low % 250 + 1}"
