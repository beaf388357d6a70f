"""`minibatch-gnn exercise`: start, check and solve the exercises of the course."""

import importlib.util
import json
from pathlib import Path

from refimpl._files import replacing
from refimpl.lab.apps.course.exercises import LEVELS, exercises, find, names
from refimpl.lab.apps.errors import UserError, user_errors
from refimpl.lab.apps.results import add_overwrite, check_free
