"""``python -m skmia.cli`` is the command ``skmia``."""

import sys

from . import main

sys.exit(main())
