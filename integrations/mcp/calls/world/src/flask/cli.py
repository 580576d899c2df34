"""The command `flask`."""

import argparse
import importlib
import os
import sys


class NoAppException(Exception):
    """There is no application to run."""


def find_best_app(module):
    """The application in a module: `app`, `application`, or the only instance."""
    from .app import Flask

    for name in ("app", "application"):
        found = getattr(module, name, None)
        if isinstance(found, Flask):
            return found
    matches = [value for value in vars(module).values() if isinstance(value, Flask)]
    if len(matches) == 1:
        return matches[0]
    raise NoAppException(f"no application in {module.__name__}")


def locate_app(name):
    sys.path.insert(0, os.getcwd())
    return find_best_app(importlib.import_module(name))


def run_command(options):
    """Runs a development server."""
    app = locate_app(options.app)
    app.debug = options.debug
    print(f"serving {app.name} on port {options.port}")


def routes_command(options):
    """Prints all rules."""
    for rule in sorted(locate_app(options.app).rules, key=lambda rule: rule.endpoint):
        print(f"{rule.endpoint:20} {','.join(sorted(rule.methods)):10} {rule.pattern}")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="flask")
    parser.add_argument("--app", default="app")
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run")
    run.add_argument("--port", type=int, default=5000)
    run.add_argument("--debug", action="store_true")
    run.set_defaults(function=run_command)
    routes = commands.add_parser("routes")
    routes.set_defaults(function=routes_command)
    options = parser.parse_args(arguments)
    options.function(options)


if __name__ == "__main__":
    main()
