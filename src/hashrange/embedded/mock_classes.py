"""`hashrange.mock()` on a test class, of unittest or of pytest.

Each test has its own mock, which is open from before the test's setup until after its teardown. If
the class has a setup or teardown for the whole class, all its tests share one mock, so that they
see the items that this setup has written.
"""

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import wraps
from typing import Any
from unittest import TestCase

Another = Callable[[], AbstractContextManager[Any]]

_OF_THE_CLASS = "_hashrange_mock_of_the_class"
_OF_THE_TEST = "_hashrange_mock_of_the_test"


def mock_class(cls: type, another: Another) -> None:
    """Change a test class in place. Raises TypeError if it has no tests."""
    if issubclass(cls, TestCase):
        _mock_test_case(cls, another)
    elif any(name.startswith("test") for name in dir(cls)):
        if hasattr(cls, "setup_class") or hasattr(cls, "teardown_class"):
            _bracket(cls, "setup_class", "teardown_class", _OF_THE_CLASS, another)
        _bracket(cls, "setup_method", "teardown_method", _OF_THE_TEST, another)
    else:
        raise TypeError(f"hashrange.mock() decorates test classes; {cls.__name__} has no test")


def _mock_test_case(cls: Any, another: Another) -> None:
    def runs_own(name: str) -> bool:
        return getattr(cls, name).__func__ is not getattr(TestCase, name).__func__

    if runs_own("setUpClass") or runs_own("tearDownClass"):
        set_up = cls.setUpClass.__func__

        @wraps(set_up)
        def set_up_class(owner: Any) -> None:
            setattr(owner, _OF_THE_CLASS, True)
            owner.addClassCleanup(delattr, owner, _OF_THE_CLASS)
            owner.enterClassContext(another())
            set_up(owner)

        cls.setUpClass = classmethod(set_up_class)
    run = cls.run

    @wraps(run)
    def run_mocked(case: Any, result: Any = None) -> Any:
        with nullcontext() if hasattr(case, _OF_THE_CLASS) else another():
            return run(case, result)

    cls.run = run_mocked


def _bracket(cls: Any, begin: str, end: str, kept: str, another: Another) -> None:
    """Open a mock before the method `begin` of a class, and close it after the method `end`.

    `another` makes the mock. If the class has an open mock already, no mock is made. Between the
    two methods, the attribute `kept` holds what `end` has to close. The second argument of the new
    methods is optional, because pytest counts a method's arguments.
    """
    begins, ends = _function(cls, begin), _function(cls, end)

    def setup(owner: Any, argument: Any = None) -> None:
        with ExitStack() as stack:
            if not hasattr(owner, _OF_THE_CLASS):
                stack.enter_context(another())
            begins(owner, argument)
            setattr(owner, kept, stack.pop_all())

    def teardown(owner: Any, argument: Any = None) -> None:
        with getattr(owner, kept):
            delattr(owner, kept)
            ends(owner, argument)

    whole_class = kept == _OF_THE_CLASS
    setattr(cls, begin, classmethod(setup) if whole_class else setup)
    setattr(cls, end, classmethod(teardown) if whole_class else teardown)


def _function(cls: type, name: str) -> Callable[[Any, Any], Any]:
    """A function of two arguments that calls the method `name` of a class.

    The arguments are the owner of the method (the class or an instance) and an argument for the
    method. The method is called with as many of them as it accepts. If the class has no such
    method, the function does nothing.
    """
    method = getattr(cls, name, None)
    if method is None:
        return lambda owner, argument: None
    function = getattr(method, "__func__", method)
    count = len(inspect.signature(function).parameters)
    return lambda owner, argument: function(*(owner, argument)[:count])
