"""``python -m skmia`` is the command ``skmia``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
