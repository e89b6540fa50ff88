"""The command, and code, in copies of a process that has imported it: a program takes seconds.

The process that is copied is one of its own, which runs nothing else: libraries that have started
threads do not work in copies.
"""

import multiprocessing
import os
import signal
import sys
import traceback
from multiprocessing.reduction import DupFd

import pytest
from threadpoolctl import threadpool_limits

from skmia.cli import main

FORKS = pytest.mark.skipif(sys.platform != "linux", reason="copies of processes are made on Linux")
PATIENCE = 120.0  # seconds, after which a test that hangs fails
STREAMS = ("stdin", "stdout", "stderr")
PRELOADED = ["forked", "pandas", "scipy.stats", "sklearn.ensemble", "skmia.report"]
_started = {}  # processes by their numbers


def fork_command(*arguments, folder=".", closed=(), outputs=None):
    """Start the command in a copy, which leads a group, and return its number.

    closed: the streams that it starts without, of 0, 1 and 2; outputs: the files that others are.
    What else is printed goes nowhere.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(
        target=_run_copy,
        args=(list(map(str, arguments)), os.path.abspath(folder), closed, _Outputs(outputs or {})),
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


def _run_copy(arguments, folder, closed, outputs):
    code = 70
    try:
        os.setsid()
        os.chdir(folder)
        _replace_streams(closed, {stream: number.detach() for stream, number in outputs.items()})
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with threadpool_limits(1):
            code = _run_to_the_end(arguments)
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


def _run_to_the_end(arguments):
    """Run the command, and flush its streams as Python does at its end."""
    try:
        code = main(arguments)
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


def run_code(code, errors):
    """Run code in a copy, write what is said of errors to a file, and return the exit code."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=_execute, args=(code, str(errors)))
    process.start()
    _started[process.pid] = process
    return wait_for_end(process.pid)


def _execute(code, errors):
    code_of_end = 1
    try:
        with open(errors, "w") as sys.stderr, threadpool_limits(1):
            try:
                exec(code, {})
                code_of_end = 0
            except BaseException:
                traceback.print_exc()
    finally:
        os._exit(code_of_end)
