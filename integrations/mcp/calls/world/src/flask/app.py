"""The central object of an application."""

from __future__ import annotations

import os
import sys
import typing as t
from datetime import timedelta

from .config import Config
from .globals import pop_context, push_context
from .helpers import get_debug_flag, locked_cached_property
from .json.provider import DefaultJSONProvider
from .sansio.scaffold import Scaffold

if t.TYPE_CHECKING:
    from .typing import ErrorHandler, ResponseValue


class RoutingError(LookupError):
    """No rule matches the path of a request."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Rule:
    """One URL rule and the endpoint it leads to."""

    def __init__(self, pattern: str, endpoint: str, methods: frozenset[str]) -> None:
        self.pattern = pattern
        self.endpoint = endpoint
        self.methods = methods

    def build(self, values: dict[str, t.Any]) -> str:
        """The URL of this rule with `values` filled in."""
        parts = []
        for part in self.pattern.split("/"):
            if part.startswith("<") and part.endswith(">"):
                name = part[1:-1].rpartition(":")[2]
                parts.append(str(values[name]))
            else:
                parts.append(part)
        return "/".join(parts)


class Flask(Scaffold):
    """An application: its rules, its configuration and its error handlers.

    The first parameter is the name of the package of the application; it is used to find
    templates and static files.
    """

    #: The class of the configuration.
    config_class = Config

    #: What a new application is configured with.
    default_config = {
        "DEBUG": None,
        "TESTING": False,
        "SECRET_KEY": None,
        "PERMANENT_SESSION_LIFETIME": timedelta(days=31),
        "SESSION_COOKIE_NAME": "session",
        "MAX_CONTENT_LENGTH": None,
        "PREFERRED_URL_SCHEME": "http",
    }

    def __init__(
        self,
        import_name: str,
        static_url_path: str | None = None,
        static_folder: str | None = "static",
        template_folder: str | None = "templates",
        root_path: str | None = None,
    ) -> None:
        super().__init__(import_name, static_folder, template_folder, root_path)
        self.config = self.make_config()
        self.json = DefaultJSONProvider(self)
        self.rules: list[Rule] = []
        self.view_functions: dict[str, t.Callable[..., t.Any]] = {}
        self.error_handlers: dict[int, ErrorHandler] = {}
        self.teardown_functions: list[t.Callable[[], None]] = []
        self._got_first_request = False
        if self.has_static_folder:
            self.add_url_rule(
                f"{static_url_path or '/static'}/<path:filename>",
                endpoint="static",
                view_func=self.send_static_file,
            )

    @locked_cached_property
    def name(self) -> str:
        """The name of the application, usually the import name."""
        if self.import_name == "__main__":
            file = getattr(sys.modules["__main__"], "__file__", None)
            return "__main__" if file is None else os.path.splitext(os.path.basename(file))[0]
        return self.import_name

    @property
    def debug(self) -> bool:
        """Whether debug mode is on."""
        return bool(self.config["DEBUG"])

    @debug.setter
    def debug(self, value: bool) -> None:
        self.config["DEBUG"] = value

    def make_config(self) -> Config:
        """The configuration of a new application."""
        defaults = dict(self.default_config)
        defaults["DEBUG"] = get_debug_flag()
        return self.config_class(self.root_path, defaults)

    def add_url_rule(
        self,
        rule: str,
        endpoint: str | None = None,
        view_func: t.Callable[..., t.Any] | None = None,
        methods: t.Iterable[str] = ("GET",),
    ) -> None:
        """Registers a rule. `endpoint` is the name of the view function if it is not given."""
        if endpoint is None:
            if view_func is None:
                raise TypeError("an endpoint or a view function is needed")
            endpoint = view_func.__name__
        known = self.view_functions.get(endpoint)
        if known is not None and view_func is not None and known is not view_func:
            raise AssertionError(f"{endpoint} is already the endpoint of another function")
        self.rules.append(Rule(rule, endpoint, frozenset(m.upper() for m in methods)))
        if view_func is not None:
            self.view_functions[endpoint] = view_func

    def route(self, rule: str, **options: t.Any) -> t.Callable[..., t.Any]:
        """A decorator that registers a view function."""

        def decorator(view: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
            self.add_url_rule(rule, options.pop("endpoint", None), view, **options)
            return view

        return decorator

    def errorhandler(self, code: int) -> t.Callable[[ErrorHandler], ErrorHandler]:
        """A decorator that registers a function for an HTTP status code."""

        def decorator(handler: ErrorHandler) -> ErrorHandler:
            self.error_handlers[code] = handler
            return handler

        return decorator

    def teardown_appcontext(self, function: t.Callable[[], None]) -> t.Callable[[], None]:
        self.teardown_functions.append(function)
        return function

    def url_for(
        self,
        endpoint: str,
        *,
        _anchor: str | None = None,
        _scheme: str | None = None,
        _external: bool | None = None,
        **values: t.Any,
    ) -> str:
        """Generate a URL to the given endpoint with the given values.

        An unknown endpoint is a `LookupError`. With `_external` the URL has a scheme and a host.
        """
        for rule in self.rules:
            if rule.endpoint == endpoint:
                url = rule.build(values)
                break
        else:
            raise LookupError(f"no rule leads to {endpoint}")
        if _external:
            scheme = _scheme or self.config["PREFERRED_URL_SCHEME"]
            url = f"{scheme}://{self.config.get('SERVER_NAME', 'localhost')}{url}"
        if _anchor is not None:
            url = f"{url}#{_anchor}"
        return url

    def match(self, path: str, method: str = "GET") -> tuple[Rule, dict[str, str]]:
        """The rule for a path, with the values of its variables."""
        asked = path.split("/")
        for rule in self.rules:
            wanted = rule.pattern.split("/")
            if len(wanted) != len(asked) or method not in rule.methods:
                continue
            values = {}
            for want, got in zip(wanted, asked):
                if want.startswith("<"):
                    values[want[1:-1].rpartition(":")[2]] = got
                elif want != got:
                    break
            else:
                return rule, values
        raise RoutingError(path)

    def dispatch_request(self, path: str, method: str = "GET") -> ResponseValue:
        """Calls the view function for a request."""
        rule, values = self.match(path, method)
        return self.view_functions[rule.endpoint](**values)

    def full_dispatch_request(self, path: str, method: str = "GET") -> ResponseValue:
        """Dispatches a request and turns errors into responses."""
        self._got_first_request = True
        push_context(self)
        try:
            return self.dispatch_request(path, method)
        except RoutingError:
            return self.handle_http_exception(404)
        finally:
            self.do_teardown_appcontext()
            pop_context()

    def handle_http_exception(self, code: int) -> ResponseValue:
        handler = self.error_handlers.get(code)
        return handler(code) if handler else (f"error {code}", code)

    def do_teardown_appcontext(self) -> None:
        for function in reversed(self.teardown_functions):
            function()

    def send_static_file(self, filename: str) -> bytes:
        """A file from the static folder. The browser may keep it for `get_send_file_max_age`."""
        if not self.has_static_folder:
            raise RuntimeError("there is no static folder")
        with open(os.path.join(self.static_folder, filename), "rb") as file:
            return file.read()

    def get_send_file_max_age(self, filename: str | None) -> int | None:
        value = self.config.get("SEND_FILE_MAX_AGE_DEFAULT")
        if isinstance(value, timedelta):
            return int(value.total_seconds())
        return value

    def test_client(self) -> FlaskClient:
        """A client that calls this application without a network."""
        return FlaskClient(self)

    def __call__(self, environ: dict[str, t.Any], start_response: t.Callable[..., t.Any]) -> list[bytes]:
        body = self.full_dispatch_request(environ["PATH_INFO"], environ["REQUEST_METHOD"])
        start_response("200 OK", [("Content-Type", "text/html")])
        return [str(body).encode()]


class FlaskClient:
    """Calls an application for tests."""

    def __init__(self, application: Flask) -> None:
        self.application = application

    def get(self, path: str) -> ResponseValue:
        return self.application.full_dispatch_request(path)

    def post(self, path: str) -> ResponseValue:
        return self.application.full_dispatch_request(path, "POST")
