"""The command in copies of this process: a new program would import packages for seconds."""

import os
import signal
import sys
import time
import traceback
import warnings

import pytest
from threadpoolctl import threadpool_limits

from skmia.cli import main

FORKS = pytest.mark.skipif(sys.platform != "linux", reason="libraries allow a fork on Linux alone")
PATIENCE = 120.0  # seconds, after which a test that hangs fails
STREAMS = ("stdin", "stdout", "stderr")


def fork_command(*arguments, folder=".", closed=(), outputs=None):
    """Start the command in a copy of this process, which leads a group, and return its number.

    closed: the streams that it starts without, of 0, 1 and 2; outputs: the files that others are.
    What else is printed goes nowhere.
    """
    with warnings.catch_warnings():
        # Python warns of threads that the copy lacks; the command starts its own.
        warnings.simplefilter("ignore", DeprecationWarning)
        number = os.fork()
    if not number:
        code = 70
        try:
            os.setsid()
            os.chdir(folder)
            _replace_streams(closed, outputs or {})
            signal.signal(signal.SIGINT, signal.default_int_handler)
            with threadpool_limits(1):  # the threads of OpenMP stay behind
                code = _run_to_the_end(list(map(str, arguments)))
        except BaseException:
            traceback.print_exc(file=sys.stderr or sys.__stderr__)
        finally:
            os._exit(code)
    return number


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
    stop = time.monotonic() + PATIENCE
    while not (found := os.waitpid(number, os.WNOHANG))[0]:
        if time.monotonic() > stop:
            os.kill(number, signal.SIGKILL)
        time.sleep(0.01)
    return os.waitstatus_to_exitcode(found[1])


def run_forked(*arguments, **settings):
    """Run the command in a copy of this process, and return its exit code."""
    return wait_for_end(fork_command(*arguments, **settings))
