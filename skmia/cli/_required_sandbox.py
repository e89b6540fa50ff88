"""The process that opens models of strangers, and what is said where a wall of it is missing."""

import sys

from .._core.sandbox import Sandbox
from .._core.walls import tell_open_doors
from ._options import CommandError, is_of_strangers

_OPTION = "--require-sandbox"


def check_sandbox(arguments):
    """Refuse a model that the program opens itself where a process of its own is required."""
    model = arguments.model
    if arguments.require_sandbox and model is not None and not is_of_strangers(model):
        raise CommandError(
            f"{_OPTION}: {model.name} is a pickle, which the program opens itself and which runs "
            f"the code in it; give the model as a .skops or ONNX file, or leave {_OPTION} out"
        )


def start_sandbox(function, arguments, errors, folders=()):
    """Start the process, and say what is open; refuse it where all has to be closed."""
    process = Sandbox(function, errors, folders)
    told = tell_open_doors(process.open_doors)
    if told and arguments.require_sandbox:
        process.close()
        raise CommandError(f"{_OPTION}: {told} Run it there, or leave {_OPTION} out")
    if told:
        print(f"skmia {arguments.command}: {told}", file=sys.stderr)
    return process
