"""Which programs this host has, and in which versions: the tools that a run calls."""

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from cliffwatch_runner import process

_DEADLINE_SECONDS = 10.0
_VERSION = re.compile(r"\d+(?:\.\d+)+|\d+")
