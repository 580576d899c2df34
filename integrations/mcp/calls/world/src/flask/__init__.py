"""A small web framework in the manner of Flask."""

from .app import Flask
from .config import Config
from .globals import current_app, g
from .helpers import abort, redirect, send_file, url_for

__all__ = ["Config", "Flask", "abort", "current_app", "g", "redirect", "send_file", "url_for"]
__version__ = "1.4.0"
