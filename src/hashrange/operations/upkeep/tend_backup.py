"""Does one step of making a backup or restoring from it, or deletes a backup that has expired."""

import msgspec

from hashrange.decoders import decoder
from hashrange.engine import backups
from hashrange.engine.decision import Decide, Decision, answer
from hashrange.engine.fetch import Moment


class Request(msgspec.Struct, rename="pascal"):
    backup_arn: str


def parse(body: bytes) -> Request:
    return decoder(Request).decode(body)


def decide(request: Request, moment: Moment) -> Decide:
    backup = yield from backups.find(request.backup_arn)
    if backup is None:
        return answer({"Done": True})
    if backup.copying is not None:
        changes = yield from backups.copy_step(backup)
    elif backup.restoring is not None:
        changes = yield from backups.restore_step(backup, backup.restoring, moment)
    elif backup.expires_at is not None and backup.expires_at <= moment.now:
        changes = yield from backups.delete(backup)
    else:
        return answer({"Done": True})
    return Decision(changes, {"Done": False})
