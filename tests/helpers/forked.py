"""Commands and programs in copies of a process that has imported skmia, which takes seconds.

The process that is copied is one of its own, which runs nothing else: libraries that have started
threads do not work in copies.
"""

import multiprocessing
import os
import signal
import sys
import traceback
from functools import partial
from multiprocessing.reduction import DupFd
from tempfile import TemporaryFile
from types import ModuleType

import pytest
from quick_audits import permute_less, permute_no_table, shrink_models, shrink_models_of_tables
from threadpoolctl import threadpool_limits

from skmia.attacks import LiRA
from skmia.cli import _audit, _model, main

FORKS = pytest.mark.skipif(sys.platform != "linux", reason="copies of processes are made on Linux")
PATIENCE = 120.0  # seconds, after which a test that hangs fails
STREAMS = ("stdin", "stdout", "stderr")
# The process that is copied starts once, so all that ask for copies name the same here.
PRELOADED = ["forked", "pandas", "scipy.stats", "sklearn.ensemble", "skmia.report", "distributed"]
PRELOADED += ["skmia.shadow", "skmia.synthetic", "skmia.cli._audit"]
_started = {}  # processes by their numbers


def fork_command(*arguments, folder=".", closed=(), outputs=None):
    """Start the command in a copy, which leads a group, and return its number.

    closed: the streams that it starts without, of 0, 1 and 2; outputs: the files that others are.
    What else is printed goes nowhere.
    """
    return _start_copy(partial(_run_command, arguments), folder, closed, outputs or {})


def _start_copy(run, folder, closed, outputs):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(
        target=_run_copy, args=(run, os.path.abspath(folder), closed, _Outputs(outputs))
    )
    process.start()
    _started[process.pid] = process
    return process.pid


class _Outputs:
    """Numbers of files, which are handed over when a process is started."""

    def __init__(self, numbers):
        self._numbers = numbers

    def __reduce__(self):
        return dict, ([(stream, DupFd(number)) for stream, number in self._numbers.items()],)


def _run_copy(run, folder, closed, outputs):
    code = 70
    try:
        os.setsid()
        os.chdir(folder)
        _replace_streams(closed, {stream: number.detach() for stream, number in outputs.items()})
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with threadpool_limits(1):
            code = _run_to_the_end(run)
    except BaseException:
        traceback.print_exc(file=sys.stderr or sys.__stderr__)
    finally:
        os._exit(code)


def _replace_streams(closed, outputs):
    nothing = os.open(os.devnull, os.O_RDWR)
    for number, name in enumerate(STREAMS):
        if number in closed:
            os.close(number)
            setattr(sys, name, None)
        else:
            os.dup2(outputs.get(number, nothing), number)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))
    for number in {nothing, *outputs.values()} - {0, 1, 2}:
        os.close(number)


def _run_command(arguments):
    """Run the command with small models, one attack and no picture.

    Tests in this process show it with all.
    """
    patch = pytest.MonkeyPatch()
    for lessen in (shrink_models, permute_less, shrink_models_of_tables, permute_no_table):
        lessen(patch)
    patch.setitem(_model._SETTINGS, "random-forest", {"n_estimators": 5})
    for name in ("matplotlib", "matplotlib.figure"):  # as where no picture can be drawn
        patch.setitem(sys.modules, name, None)
    settings, audit = {"attacks": {"LiRA": LiRA()}, "file": False}, _audit.audit
    patch.setattr(_audit, "audit", lambda *given, **others: audit(*given, **others | settings))
    return main(list(map(str, arguments)))


def _run_to_the_end(run):
    """Run a program, and flush its streams as Python does at its end."""
    try:
        code = run()
    except SystemExit as end:
        code = end.code or 0
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            code = 120
    return code


def wait_for_end(number):
    """Return the exit code of a copy, or the signal that ended it as a negative number."""
    process = _started.pop(number)
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        process.join()
    return process.exitcode


def run_forked(*arguments, **settings):
    """Run the command in a copy, and return its exit code."""
    return wait_for_end(fork_command(*arguments, **settings))


def run_program(code, *arguments, folder="."):
    """Run code as ``python -c`` would, in a copy; return its exit code, outputs and errors.

    Its hashes of strings are others than those of this process, as the copied one has its own.
    """
    with TemporaryFile("w+") as out, TemporaryFile("w+") as err:
        streams = {1: out.fileno(), 2: err.fileno()}
        run = partial(_run_code, code, list(map(str, arguments)))
        ended = wait_for_end(_start_copy(run, folder, (), streams))
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
    return ended, *texts


def _run_code(code, arguments):
    sys.argv, sys.path[:0] = ["-c", *arguments], [""]
    main_module = sys.modules["__main__"] = ModuleType("__main__")
    exec(code, vars(main_module))
    return 0
