"""Plans: prepared statements of policies, which decide about many requests.

A plan is for one action of a principal on a resource, and has the statements about them. Conditions
that depend only on the principal are decided when the plan is made. `Plan.settled` decides
conditions on keys whose values many requests share. If only the leading key remains to be tested,
the plan has the function `by_key`, which looks it up among the values of all statements at once.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from hashrange.access.conditions import Condition
from hashrange.access.operators import OPERATORS, Fits
from hashrange.access.patterns import Context, Known, Pattern
from hashrange.access.policy import Statement

IDENTITY = "an identity-based policy"
BOUNDARY = "a permissions boundary"
SESSION = "a session policy"
RESOURCE = "a resource-based policy"
"""The four kinds of policies, as messages name them."""


class Source(Struct, frozen=True):
    """The statement that decided about a request, and the policy that has this statement."""

    policy: str
    statement: str


class Verdict(Struct, frozen=True):
    """Whether a request is allowed. `because` ends the message of a denial, else it is empty."""

    because: str
    source: Source | None = None

    @property
    def allowed(self) -> bool:
        return not self.because


Keys = Mapping[str, tuple[str, ...]]

LEADING = "dynamodb:leadingkeys"
LEADINGS = frozenset({LEADING, "dynamodb:firstpartitionkeyvalues"})
"""The two condition keys for the leading keys of a request."""


class _OneKey(Struct, frozen=True):
    """The context of a request for which only the leading key matters."""

    text: str

    def values(self, key: str, /) -> tuple[str, ...]:
        return (self.text,) if key in LEADINGS else ()


class Test(Struct, frozen=True):
    """Tells whether a statement may apply to a request, judged by the condition keys `keys`.

    If `condition` is set and the key has a single value, one comparison is enough: the test passes
    if and only if the value matches one of the policy's values.
    """

    keys: frozenset[str]
    holds: Callable[[Context], bool]
    condition: Condition | None = None


def needs(statement: Statement, resource: str | None = None) -> tuple[Test, ...]:
    """The tests of whether a statement applies to a request. All of them must pass.

    With `resource`, one of the tests is about the resource.
    """
    lenient = not statement.allows
    tests = [
        Test(each.asks, each.test(lenient), each if each.fits_at_once else None)
        for each in statement.conditions
    ]
    if resource is not None:
        asks = frozenset(key for each in statement.resources for key in each.variables)
        tests.append(Test(asks, partial(statement.applies_to, resource)))
    return tuple(tests)


class Candidate(Struct, frozen=True):
    """A statement about an action and a resource. It applies if all tests pass.

    If the statement is an Allow and applies, `verdict` is the verdict on the request.
    """

    statement: Statement
    verdict: Verdict
    tests: tuple[Test, ...]

    def applies(self, context: Context) -> bool:
        for each in self.tests:  # noqa: SIM110 - a generator would cost more than the tests
            if not each.holds(context):
                return False
        return True

    def settled(self, known: Context, knows: Callable[[str], bool]) -> "Candidate | None":
        """The candidate with the tests that remain if some keys are known; None if it cannot apply.

        `knows` tells whether a key is known, and `known` has the known values.
        """
        left = []
        for each in self.tests:
            if not all(map(knows, each.keys)):
                left.append(each)
            elif not each.holds(known):
                return None
        return replace(self, tests=tuple(left))


class Group:
    """Some of the candidates of a plan."""

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self.candidates = tuple(candidates)
        self.keys = frozenset(
            key for each in self.candidates for test in each.tests for key in test.keys
        )
        self.by_key = _by_key(self.candidates) if self.keys <= LEADINGS else None
        """A function that tells whether a candidate applies to a request with a single leading key.

        None if the tests need condition keys other than LEADINGS."""

    @property
    def varies(self) -> bool:
        return any(each.tests for each in self.candidates)

    def first(self, context: Context) -> Verdict | None:
        """The verdict of the first candidate that applies; None if none applies."""
        if self.by_key is not None:
            values = context.values(LEADING)
            if len(values) == 1 and not self.by_key(values[0], context):
                return None
        for each in self.candidates:
            if each.applies(context):
                return each.verdict
        return None

    def settled(self, known: Context, knows: Callable[[str], bool]) -> "Group":
        left = [each.settled(known, knows) for each in self.candidates]
        return Group(each for each in left if each is not None)


def _by_key(candidates: Iterable[Candidate]) -> Fits:
    values: dict[str, list[Pattern]] = {}
    fits: list[Fits] = []
    for each in candidates:
        condition = each.tests[0].condition if len(each.tests) == 1 else None
        if condition is not None:
            values.setdefault(condition.name, []).extend(condition.values)
        else:
            fits.append(partial(_applies_to_key, each))
    for name, patterns in values.items():
        fixed = OPERATORS[name].fixed
        assert fixed is not None
        fits.append(fixed(patterns))
    return _any_of(fits)


def _never(text: str, context: Context) -> bool:
    return False


def _any_of(several: list[Fits]) -> Fits:
    fits = [each for each in several if each is not _never]
    if len(fits) < 2:
        return fits[0] if fits else _never
    return lambda text, context: any(each(text, context) for each in fits)


def _all_of(fits: list[Fits]) -> Fits:
    if len(fits) == 1:
        return fits[0]
    return lambda text, context: all(each(text, context) for each in fits)


def _applies_to_key(candidate: Candidate, text: str, context: Context) -> bool:
    return candidate.applies(_OneKey(text))


class Plan(Struct):
    """The statements that decide about an action.

    `by_name` has the Allows of the resource's policy that name the principal. `boundary` and
    `session` are None if there is no such policy. `verdict` is set if every request gets the same
    verdict. `by_key` is set if only the leading key matters: it tells whether a request with a
    single leading key is allowed. `asks_items` says that the verdict depends on the items of a
    request, and on nothing else. Callers store settled plans in the cache `shapes`.
    """

    action: str
    denials: tuple[tuple[str, Group], ...]
    by_name: Group
    boundary: Group | None
    session: Group | None
    allowing: Group
    verdict: Verdict | None = None
    by_key: Fits | None = None
    asks_items: bool = False
    shapes: dict[object, "Plan"] = {}

    def __post_init__(self) -> None:
        groups = self._groups()
        keys = [key for group in groups for key in group.keys]
        self.asks_items = bool(keys) and all(key.startswith("dynamodb:") for key in keys)
        if not any(group.varies for group in groups):
            self.verdict = self.decide(_OneKey(""))
        elif all(group.by_key for group in groups):
            self.by_key = self._by_key()

    def decide(self, context: Context) -> Verdict:
        if self.verdict is not None:
            return self.verdict
        for kind, denials in self.denials:
            if denial := denials.first(context):
                return Verdict(f"with an explicit deny in {kind}", denial.source)
        if by_name := self.by_name.first(context):
            return by_name
        if self.boundary is not None and not self.boundary.first(context):
            return Verdict(self._nothing_allows(BOUNDARY))
        if self.session is not None and not self.session.first(context):
            return Verdict(self._nothing_allows(SESSION))
        return self.allowing.first(context) or Verdict(self._nothing_allows(IDENTITY))

    def settled(self, known: Context, knows: Callable[[str], bool]) -> "Plan":
        """The plan for requests that agree with `known` in all keys for which `knows` is true."""
        return Plan(
            self.action,
            tuple((kind, group.settled(known, knows)) for kind, group in self.denials),
            self.by_name.settled(known, knows),
            self.boundary and self.boundary.settled(known, knows),
            self.session and self.session.settled(known, knows),
            self.allowing.settled(known, knows),
        )

    def _groups(self) -> list[Group]:
        some = (self.by_name, self.boundary, self.session, self.allowing)
        return [*(group for _, group in self.denials), *filter(None, some)]

    def _by_key(self) -> Fits:
        def of(*groups: Group | None) -> list[Fits]:
            return [each.by_key for each in groups if each is not None and each.by_key]

        denies = _any_of(of(*(group for _, group in self.denials)))
        by_name = _any_of(of(self.by_name))
        needed = _all_of(of(self.boundary, self.session, self.allowing))
        if denies is by_name is _never:
            return needed

        def allowed(text: str, context: Context) -> Known:
            if denies(text, context):
                return False
            return by_name(text, context) or needed(text, context)

        return allowed

    def _nothing_allows(self, kind: str) -> str:
        return f"because no {kind.partition(' ')[2]} allows the {self.action} action"
