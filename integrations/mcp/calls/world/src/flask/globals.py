"""Objects that belong to the current request."""

from contextvars import ContextVar

_stack: ContextVar[tuple] = ContextVar("flask.stack", default=())


class _Namespace:
    """Takes any attribute; cleared after each request."""


g = _Namespace()


def push_context(app):
    _stack.set((*_stack.get(), app))


def pop_context():
    *rest, _ = _stack.get()
    _stack.set(tuple(rest))


def current_app():
    """The application that handles the current request."""
    stack = _stack.get()
    if not stack:
        raise RuntimeError("working outside of application context")
    return stack[-1]
