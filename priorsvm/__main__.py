"""``python -m priorsvm`` is the ``priorsvm`` command."""

import sys

from .cli import main

sys.exit(main())
