"""Deletes transaction tokens that are older than ten minutes."""

from hashrange.engine import client_tokens
from hashrange.engine.decision import Decide, Decision, answer
from hashrange.engine.fetch import Moment


def parse(body: bytes) -> None:
    return None


def decide(request: None, moment: Moment) -> Decide:
    old = yield from client_tokens.forget_old(moment)
    if not old.tokens:
        return answer({"Done": True})
    return Decision([old], {"Done": False})
