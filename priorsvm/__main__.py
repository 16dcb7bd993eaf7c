"""The ``priorsvm`` command, as ``python -m priorsvm``."""

import sys

from .cli import main

sys.exit(main())
