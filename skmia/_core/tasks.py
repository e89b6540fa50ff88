"""Tasks for the processes of joblib, which end with the program that started them.

A program that is killed cannot stop its workers: joblib's workers would wait for its next task for
as long as the machine runs, and with them the records that they share with it would stay in memory.
"""

import os
import signal
import threading
import time
from multiprocessing import current_process

import joblib

_SECONDS_BETWEEN_LOOKS = 1.0
_WATCH = "skmia-watch"


class _Task:
    """A function that has its process watch the program that it works for."""

    def __init__(self, function):
        self._function = function
        self._program = os.getpid()

    def __call__(self, *arguments, **settings):
        end_with(self._program)
        return self._function(*arguments, **settings)


def delayed(function):
    """As :func:`joblib.delayed`, for tasks whose process ends when this program does.

    Parameters
    ----------
    function : callable
        What a task calls.

    Returns
    -------
    delayed : callable
        Takes the arguments and returns a task.
    """
    return joblib.delayed(_Task(function))


def end_with(program):
    """End this process soon after the program that started it has ended, for whatever reason.

    Ctrl-C, which a terminal sends to all processes of a command, is left to the program: it stops
    its workers itself, and each of them would print where it was.

    Nothing happens in the program itself, in its threads, and on workers of a cluster, which were
    started by others. The signal that Linux sends when a parent ends would not do: it comes when
    the *thread* ends that started the process, and workers are reused by other threads.

    Parameters
    ----------
    program : int
        Number of the process that the tasks come from.
    """
    if os.getpid() == program or is_watching():
        return
    if os.getppid() == program:
        _leave_interrupts()
        threading.Thread(target=_watch, args=(program,), name=_WATCH, daemon=True).start()
    elif current_process().name.startswith("LokyProcess"):
        _end()  # the program ended before its first task began


def is_watching():
    """Whether this process watches the program that started it."""
    return any(thread.name == _WATCH for thread in threading.enumerate())


def _leave_interrupts():
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _do_nothing)  # processes started from here will not inherit it


def _do_nothing(number, frame):
    """Be interrupted."""


def _watch(program):
    # Where the parent has ended, another process takes its place; on Windows nothing shows it.
    while os.getppid() == program:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    _end()


def _end():
    # Nobody is left to whom anything could be handed over; a thread cannot end a process otherwise.
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
