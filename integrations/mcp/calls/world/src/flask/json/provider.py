"""How an application writes JSON."""

import dataclasses
import datetime
import json
import uuid
import weakref


def _default(value):
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, uuid.UUID):
        return str(value)
    if dataclasses.is_dataclass(value):
        return dataclasses.asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


class JSONProvider:
    """The interface of all providers."""

    def __init__(self, app):
        self._app = weakref.proxy(app)

    def dumps(self, obj, **options):
        raise NotImplementedError

    def loads(self, text, **options):
        raise NotImplementedError


class DefaultJSONProvider(JSONProvider):
    """Uses the module `json`."""

    ensure_ascii = True
    sort_keys = True

    def dumps(self, obj, **options):
        options.setdefault("default", _default)
        options.setdefault("ensure_ascii", self.ensure_ascii)
        options.setdefault("sort_keys", self.sort_keys)
        return json.dumps(obj, **options)

    def loads(self, text, **options):
        return json.loads(text, **options)
