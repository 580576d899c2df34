"""The configuration of an application."""

import json
import os
import typing as t


class Config(dict):
    """A dictionary that can be filled from files and from the environment."""

    def __init__(self, root_path: str, defaults: dict[str, t.Any] | None = None) -> None:
        super().__init__(defaults or {})
        self.root_path = root_path

    def from_prefixed_env(self, prefix: str = "FERRY") -> bool:
        """Takes every environment variable that begins with the prefix."""
        for key in sorted(os.environ):
            if not key.startswith(f"{prefix}_"):
                continue
            value = os.environ[key]
            try:
                value = json.loads(value)
            except ValueError:
                pass
            self[key.removeprefix(f"{prefix}_")] = value
        return True

    def from_object(self, obj: object) -> None:
        """Takes the attributes of an object whose names are upper case."""
        for key in dir(obj):
            if key.isupper():
                self[key] = getattr(obj, key)

    def from_file(self, filename: str, load: t.Callable[[t.IO[t.Any]], t.Mapping[str, t.Any]]) -> bool:
        """Takes what `load` makes of a file."""
        with open(os.path.join(self.root_path, filename), "rb") as file:
            self.update(load(file))
        return True

    def get_namespace(self, namespace: str) -> dict[str, t.Any]:
        return {key[len(namespace):].lower(): value for key, value in self.items() if key.startswith(namespace)}
