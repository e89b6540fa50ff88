"""Tasks for joblib processes that end with the program that started them.

A program that is killed cannot stop its workers. The workers of joblib would wait for further tasks
forever, and the records that they share with the program would stay in memory.
"""

import os
import signal
import threading
import time
from multiprocessing import current_process

import joblib

_SECONDS_BETWEEN_LOOKS = 1.0
_WATCH = "skmia-watch"


class _WatchedTask:
    """A function whose process watches the program that sent it."""

    def __init__(self, function):
        self._function = function
        self._program = os.getpid()

    def __call__(self, *arguments, **settings):
        end_with(self._program)
        return self._function(*arguments, **settings)


def delayed(function):
    """Like :func:`joblib.delayed`, for tasks whose process ends when this program ends."""
    return joblib.delayed(_WatchedTask(function))


def end_with(program):
    """End this process soon after the program that started it has ended for any reason.

    Ctrl-C, which a terminal sends to all processes of a command, is left to the program. The
    program stops its workers itself, and each of them would print a traceback. The function does
    nothing in the program itself, in its threads, and on workers of a cluster, which other programs
    have started. The signal that Linux sends when a parent ends is not suitable: it is sent when
    the *thread* that started the process ends, and workers are reused by other threads.
    """
    is_watching = any(thread.name == _WATCH for thread in threading.enumerate())
    if os.getpid() == program or is_watching:
        return
    if os.getppid() == program:
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            # Processes started from here will not inherit it.
            signal.signal(signal.SIGINT, _ignore_signal)
        threading.Thread(target=_watch, args=(program,), name=_WATCH, daemon=True).start()
    elif current_process().name.startswith("LokyProcess"):
        _end()  # the program ended before its first task began


def _ignore_signal(number, frame):
    """Ignore the interrupt."""


def _watch(program):
    # When the parent ends, another process becomes the parent; on Windows, its id does not change.
    while os.getppid() == program:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    _end()


def _end():
    # No program needs the results any more, and a thread cannot end its process in another way.
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))
