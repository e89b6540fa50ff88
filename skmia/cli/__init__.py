"""The command line: ``skmia audit``, ``table`` and others; ``--help`` explains each."""

from ._main import main as main
