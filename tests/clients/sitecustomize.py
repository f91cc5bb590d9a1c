"""Python processes that a test begins anew are to find the plugins that the test's process has, as far as it says so."""

import importlib
import os

for _name in os.environ.get("WARPLOOM_PLUGINS", "").split():
    importlib.import_module(_name)
