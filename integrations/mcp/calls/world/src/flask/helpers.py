"""Functions for views."""

import os
from threading import RLock

from .globals import current_app

_missing = object()


def get_debug_flag():
    """Whether the environment asks for debug mode."""
    value = os.environ.get("FLASK_DEBUG")
    return bool(value) and value.lower() not in {"0", "false", "no"}


def url_for(endpoint, **values):
    """A URL of the current application; see `Flask.url_for`."""
    return current_app().url_for(endpoint, **values)


def redirect(location, code=302):
    return f"redirecting to {location}", code


def abort(code):
    raise SystemExit(f"aborted with {code}")


def send_file(path, download_name=None):
    """A file as an attachment."""
    with open(path, "rb") as file:
        return file.read(), download_name or os.path.basename(path)


class locked_cached_property:
    """A property that is computed once, under a lock."""

    def __init__(self, function):
        self.function = function
        self.lock = RLock()
        self.__name__ = function.__name__

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        with self.lock:
            value = obj.__dict__.get(self.__name__, _missing)
            if value is _missing:
                value = obj.__dict__[self.__name__] = self.function(obj)
            return value
