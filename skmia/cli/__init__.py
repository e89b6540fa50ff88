"""The command line: ``skmia audit``, ``report`` and ``compare``; ``--help`` explains each."""

from ._main import main as main
