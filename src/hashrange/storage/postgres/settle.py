"""The end of a transaction, and how its outcome is learned if the connection is lost.

Each transaction inserts a random id. If its last message is not answered, another connection
inserts the same id. While the server still works on the transaction, this insertion waits. If the
id then exists, the transaction was committed. If not, the transaction can no longer be committed,
because its id is now taken.
"""

import asyncio
import os
import time
from typing import Any

import asyncpg

from hashrange.kv import Conflict, OutcomeUnknown, StoreError
from hashrange.storage.postgres.cluster.nodes import Node
from hashrange.storage.postgres.pool import IDLE_SECONDS_MAX, Pool
from hashrange.storage.postgres.problems import ERRORS, is_lost, is_of_another_node
from hashrange.storage.postgres.script import Script
from hashrange.storage.postgres.writes import PLAIN_SLOT

SETTLE_SECONDS_MAX = 2 * IDLE_SECONDS_MAX + 10
"""How long to try to learn the outcome of a commit. In this time, the server ends a process whose
client is gone, and the database recovers from a crash."""
NODE_SETTLE_SECONDS_MAX = 3.0
"""How long to try to learn the outcome of a commit at one node of a cluster. The time is short,
because requests for the node wait during it, and may be refused."""

KEPT_MILLISECONDS = 10 * 60 * 1000
"""How long the id of a committed transaction is kept. Afterwards, no connection asks for the id."""

_TIME_BYTES = 6

MARK = "INSERT INTO batches (slot, id) VALUES ($1, $2)"
_MARKS = "SELECT count(*) FROM batches WHERE slot = $1 AND id = $2"


def new_id(milliseconds: int) -> bytes:
    """An id that begins with the time, so that old ids are stored together."""
    return milliseconds.to_bytes(_TIME_BYTES, "big") + os.urandom(10)


async def commit(
    connection: Any, script: Script, slot: int, id_: bytes, pool: Pool, name: str
) -> bool:
    """Run the last steps of a transaction, and commit it. Its id, `id_`, is stored in `slot`.

    Returns whether the connection is still usable. Raises Conflict if nothing was committed because
    of another transaction or a lost connection. Raises OutcomeUnknown if the outcome is not known
    in time, and otherwise the error of the failed step.
    """
    try:
        await script.run(connection)
        if not script.begun:
            return True
        status = await _commit(connection, name)
    except asyncpg.IntegrityConstraintViolationError:
        raise Conflict("another transaction has locked or changed the same rows") from None
    except ERRORS as error:
        # If only the lost node was written to, Citus commits there in one phase.
        if not (is_lost(error) or is_of_another_node(error)):
            raise
    else:
        if status != "COMMIT":
            raise Conflict("the transaction had already failed")
        return True
    connection.terminate()
    if not await _was_committed(slot, id_, pool, name):
        raise Conflict("the connection was lost before the commit")
    return False


async def _commit(connection: Any, name: str) -> str:
    """Commit, and return the status of COMMIT. Raises OutcomeUnknown if PostgreSQL warns that
    another node did not commit: a node that cannot be reached commits its part when it is reachable
    again, and shows the old rows until then."""
    warnings: list[str] = []

    def note(_: Any, message: Any) -> None:
        if getattr(message, "severity_en", "") == "WARNING":
            warnings.append(str(message))

    connection.add_log_listener(note)
    try:
        status: str = await connection.execute("COMMIT")
    finally:
        connection.remove_log_listener(note)
    if warnings and status == "COMMIT":
        raise OutcomeUnknown(f"{name}: {warnings[-1]}")
    return status


async def _was_committed(slot: int, id_: bytes, pool: Pool, name: str) -> bool:
    """Whether the transaction with this id was committed. If not, inserting the id here ensures
    that it never will be.

    The connection that inserts the id may be lost as well. So it inserts a second id together with
    the first. If the next attempt finds both ids, the first one was inserted here and not by the
    transaction.
    """
    own = id_[:-1] + bytes([id_[-1] ^ 1])
    deadline = time.monotonic() + (NODE_SETTLE_SECONDS_MAX if pool.near else SETTLE_SECONDS_MAX)
    while True:
        try:
            async with pool.fresh() as connection, pool.within(connection):
                status = await connection.execute(MARK + " ON CONFLICT DO NOTHING", slot, id_)
                if status == "INSERT 0 1":
                    await connection.execute(MARK, slot, own)
                    return False
                return not await connection.fetchval(_MARKS, slot, own)
        except (*ERRORS, StoreError):
            if time.monotonic() > deadline:
                raise OutcomeUnknown(
                    f"{name}: the connection was lost during a commit, and the database does not "
                    "answer"
                ) from None
        await asyncio.sleep(0.1)


async def forget_old(pool: Pool, milliseconds: int) -> None:
    """Delete ids that are no longer needed. `milliseconds` is the present time since the epoch."""
    before = _before(milliseconds)
    async with pool.connection() as connection:
        await connection.execute(
            "DELETE FROM batches WHERE slot = $1 AND id < $2", PLAIN_SLOT, before
        )


async def forget_old_at(node: Node, milliseconds: int) -> None:
    """Like `forget_old`, for the slots of one node."""
    before = _before(milliseconds)
    async with node.near.connection() as connection:
        for shard in node.shards:
            await connection.execute(
                f"DELETE FROM {shard.tables.batches} WHERE slot = ANY ($1) AND id < $2",
                list(shard.slots),
                before,
            )


def _before(milliseconds: int) -> bytes:
    return max(0, milliseconds - KEPT_MILLISECONDS).to_bytes(_TIME_BYTES, "big")
