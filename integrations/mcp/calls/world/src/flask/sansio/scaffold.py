"""What applications and blueprints have in common."""

import os
import sys


class Scaffold:
    """Knows where the files of a package are."""

    def __init__(self, import_name, static_folder=None, template_folder=None, root_path=None):
        self.import_name = import_name
        self.root_path = root_path or get_root_path(import_name)
        self._static_folder = static_folder
        self.template_folder = template_folder

    @property
    def static_folder(self):
        if self._static_folder is None:
            return None
        return os.path.join(self.root_path, self._static_folder)

    @property
    def has_static_folder(self):
        return self._static_folder is not None


def get_root_path(import_name):
    module = sys.modules.get(import_name)
    file = getattr(module, "__file__", None)
    return os.path.dirname(os.path.abspath(file)) if file else os.getcwd()
