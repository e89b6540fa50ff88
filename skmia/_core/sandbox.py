"""A process of its own for models of strangers: it opens the file and is asked, and may crash.

Compiled code takes the numbers of a model for valid ones. A forged model can make it crash, run
without end, or write into memory. What happens then happens in a process that has nothing to
write to but its pipes, an empty temporary folder and folders that it was given, whose memory and
time are limited, and whose replies are read as JSON, never as pickles. The program counts what the
process makes, and ends it where that is too much.
"""

import faulthandler
import io
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from joblib import parallel_config

from .escaping import visible_lines
from .foreign_words import describe_error
from .progress import draws_bars, say_on_stderr
from .threads import find_thread_pools
from .walls import build_walls

try:
    import resource
except ImportError:  # Windows
    resource = None

# Seconds of computing for one question; a process that sleeps gets some more.
_SECONDS = "SKMIA_MODEL_SECONDS"
_USUAL_SECONDS = 600.0
_PATIENCE = 60.0
_MOST_REPLIED = 2**27  # bytes
_MOST_VALUES = 1_000_000  # lists, mappings and values of a reply
_MOST_TEXT = 10_000  # characters of an error
_MOST_SAID = 500  # characters that are sent at once, in one piece
_MOST_WRITTEN = 2**30  # bytes of a file
_FEWEST_BYTES = 2**32  # of memory, on a small machine
_LAST_WORDS = 1.0  # seconds for text that is on its way when the process is ended
_MOST_FILES, _MOST_STORED = 10_000, 2**30  # files in the temporary folder, and their bytes
_MOST_PROCESSES = 100  # that are started by the process, beside one for each processor
_COUNTS = 0.5  # seconds between two counts of what the process makes
_SAID_AT_ONCE, _SAID_PER_SECOND = 200_000, 5_000  # characters of its standard error


class ModelEndedError(ValueError):
    """The process that asked a model ended, or did not answer."""

    def __init__(self, why):
        super().__init__(
            f"The model ended the process that asked it ({why}); it may be damaged or forged."
        )


class Sandbox:
    """A function that is called in a process of its own.

    What its Python code writes to the standard error is copied to that of the program, with control
    characters written out.
    """

    def __init__(self, function, errors=(), folders=()):
        self._errors = {kind.__name__: kind for kind in (*_ERRORS, *errors)}
        self._folder = tempfile.TemporaryDirectory(prefix="skmia-", ignore_cleanup_errors=True)
        context = multiprocessing.get_context(_choose_start())
        self._pipe, there = context.Pipe()
        self._said, says = context.Pipe(duplex=False)
        places = [self._folder.name, *folders]
        find_thread_pools()  # what is found here, a forked process need not search for
        # No daemon, which could not start the processes that train models.
        self._process = context.Process(
            target=_serve, args=(there, says, function, places, draws_bars())
        )
        start_process(self._process)
        there.close()
        says.close()
        self._copies = threading.Thread(target=_copy, args=(self._said,), daemon=True)
        self._copies.start()
        self._too_much, self._is_closed = "", threading.Event()
        self._counts = threading.Thread(target=self._count, daemon=True)
        self._counts.start()
        self._open_doors = None

    @property
    def open_doors(self):
        """What the process can do that no wall of the system closes, before it opens a file."""
        if self._open_doors is None:
            try:
                self._open_doors = json.loads(self._pipe.recv_bytes(_MOST_TEXT))
            except (EOFError, OSError):
                raise ModelEndedError(self._describe_end(False, None)) from None
        return self._open_doors

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, *arguments, is_limited=True):
        """Call the function in the process."""
        self.open_doors  # noqa: B018 - it comes before the first reply
        seconds = read_seconds() if is_limited else None
        late = threading.Event()
        # Twice the time of computing, as other programs may take half of a processor.
        watch = threading.Timer(2 * (seconds or 0) + _PATIENCE, self._stop, [late])
        if is_limited:
            watch.start()
        try:
            self._pipe.send((seconds, arguments))
            reply = self._pipe.recv_bytes(_MOST_REPLIED)
        except (EOFError, OSError):
            raise ModelEndedError(self._describe_end(late.is_set(), seconds)) from None
        finally:
            watch.cancel()
        try:
            reply = _read_reply(reply)
            if "value" in reply:
                return reply["value"]
            names, text, trace = reply["error"], str(reply["text"]), str(reply["trace"])
            kind = next((self._errors[name] for name in names if name in self._errors), None)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ModelEndedError("a reply that cannot be read") from error
        if "MemoryError" in names:
            raise ModelEndedError("too little memory")
        raised = (kind or RuntimeError)(text)
        raised.add_note(visible_lines(trace))
        raise raised

    def close(self):
        """End the process with all that it started, and remove its folder."""
        self._is_closed.set()
        self._kill()
        self._process.join()
        self._pipe.close()
        self._copies.join(_LAST_WORDS)
        self._folder.cleanup()

    def _count(self):
        """End the process where it makes too many files or processes."""
        while not self._is_closed.wait(_COUNTS) and self._process.exitcode is None:
            n_files, n_bytes = _measure_folder(self._folder.name)
            if n_files > _MOST_FILES:
                self._too_much = f"more than {_MOST_FILES:,} temporary files"
            elif n_bytes > _MOST_STORED:
                self._too_much = f"more than {_MOST_STORED:,} bytes of temporary files"
            elif _count_processes(self._process.pid) > _MOST_PROCESSES + (os.cpu_count() or 1):
                self._too_much = f"more than {_MOST_PROCESSES} processes"
            if self._too_much:
                return self._kill()

    def _stop(self, late):
        late.set()
        self._kill()

    def _kill(self):
        number = self._process.pid
        if hasattr(os, "killpg") and self._process.exitcode is None:
            with suppress(OSError):  # it has not begun a session yet, or is gone
                if os.getpgid(number) == number:
                    os.killpg(number, signal.SIGKILL)
        self._process.kill()

    def _describe_end(self, is_late, seconds):
        stop = time.monotonic() + 2
        while self._process.exitcode is None and time.monotonic() < stop:
            time.sleep(0.002)
        code = self._process.exitcode
        if self._too_much:
            return self._too_much
        if is_late or (seconds and code == -getattr(signal, "SIGXCPU", 0)):
            return f"no answer in {seconds:g} seconds"
        if code is None:
            return "a closed pipe"
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def ask_apart(function, *arguments, errors=()):
    """Call a function once in a process of its own; see :class:`Sandbox`."""
    with Sandbox(function, errors) as process:
        return process.ask(*arguments)


def start_process(process):
    """Start a process of multiprocessing, also if this one has threads."""
    with warnings.catch_warnings():
        # Python warns of threads that a forked process lacks; this one starts its own.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()


def is_apart():
    """Return whether this process may start no program and write no file, but may fork."""
    return _is_apart


_is_apart = False


def _read_reply(reply):
    """Return the values of a reply; JSON of few bytes can stand for much memory."""
    if sum(map(reply.count, (b",", b"[", b"{"))) > _MOST_VALUES:
        outside = re.sub(rb'"(?:[^"\\]|\\.)*+"', b"", reply)
        if sum(map(outside.count, (b",", b"[", b"{"))) > _MOST_VALUES:
            raise ValueError(f"more than {_MOST_VALUES:,} values")
    return json.loads(reply)


def _measure_folder(folder):
    """Return the number of files in a folder, at any depth, and their bytes.

    No more than are allowed.
    """
    n_files, n_bytes, places = 0, 0, [folder]
    while places and n_files <= _MOST_FILES:
        with suppress(OSError), os.scandir(places.pop()) as found:
            for entry in found:
                n_files += 1
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        places.append(entry.path)
                    else:  # of a file with holes only what is on the disk
                        n_bytes += 512 * entry.stat(follow_symlinks=False).st_blocks
                if n_files > _MOST_FILES:
                    break
    return n_files, n_bytes


def _count_processes(session):
    """Return the number of processes of a session, where the system tells; 0 elsewhere."""
    count = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            # The name, in brackets, can hold anything.
            count += int(place.read_text(errors="replace").rpartition(")")[2].split()[3]) == session
    return count


def _copy(said):
    """Copy what a process says; of control characters only those that begin a line."""
    left, then = _SAID_AT_ONCE, time.monotonic()
    with suppress(EOFError, OSError), said:  # of the process, which ends or sends something else
        while True:
            text = said.recv_bytes(_MOST_TEXT).decode("utf-8", "backslashreplace")
            now = time.monotonic()
            left = min(_SAID_AT_ONCE, left + _SAID_PER_SECOND * (now - then)) - len(text)
            then = now
            if left < 0:  # what is said faster than anybody reads is left out
                left = max(left, -_MOST_TEXT)
                continue
            say_on_stderr("\r".join(map(visible_lines, text.split("\r"))))


def read_seconds():
    """Return the seconds of computing that a question to a model may take."""
    text = os.environ.get(_SECONDS)
    if text is None:
        return _USUAL_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e8:
        raise ValueError(f"{_SECONDS} must be a number of seconds above 0, got {text!r}.")
    return seconds


def _choose_start():
    """Fork where the system's libraries allow it: a new process imports packages for seconds."""
    return "fork" if sys.platform == "linux" else "spawn"


_ERRORS = (
    ArithmeticError,
    AttributeError,
    FileNotFoundError,
    ImportError,
    IndexError,
    KeyError,
    LookupError,
    NotImplementedError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


# In the process.


def _serve(pipe, says, function, places, draws):
    global _is_apart
    sys.stdout, sys.stderr = open(os.devnull, "w"), _CopiedErrors(says, draws)
    _close_files([pipe.fileno(), says.fileno()], places)
    # Said before the process has seen anything of a stranger.
    pipe.send_bytes(json.dumps(build_walls(places)).encode())
    _is_apart = sys.platform == "linux"
    while True:
        try:
            seconds, arguments = pipe.recv()
        except EOFError:
            return
        _limit_seconds(seconds)
        try:
            # The processes of joblib are programs, and its threads share locks that are files.
            with find_thread_pools().limit(limits=1), parallel_config("sequential"):
                reply = json.dumps({"value": function(*arguments)}, default=str)
        except Exception as error:
            names = [kind.__name__ for kind in type(error).__mro__]
            trace = traceback.format_exc()[-_MOST_TEXT:]
            reply = json.dumps(
                {"error": names, "text": describe_error(error)[:_MOST_TEXT], "trace": trace}
            )
        pipe.send_bytes(reply.encode())


class _CopiedErrors(io.TextIOBase):
    """A standard error that is copied by the program, and has no lock that a fork could leave."""

    encoding = "utf-8"

    def __init__(self, pipe, draws):
        self._pipe, self._draws = pipe, draws

    def isatty(self):
        return self._draws

    def write(self, text):
        for start in range(0, len(text), _MOST_SAID):
            part = text[start : start + _MOST_SAID]
            with suppress(OSError):  # a terminal that is gone costs no audit
                self._pipe.send_bytes(part.encode("utf-8", "backslashreplace"))
        return len(text)


def _close_files(kept, places):
    os.environ["OMP_NUM_THREADS"] = "1"
    tempfile.tempdir = places[0]
    faulthandler.disable()
    if os.name != "posix":
        return
    os.setsid()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    if multiprocessing.get_start_method(allow_none=True) is None or sys.platform == "linux":
        last = max(os.sysconf("SC_OPEN_MAX"), *kept)
        for before, after in pairwise([2, *sorted(kept), last]):
            os.closerange(before + 1, after)
    _limit_resources()


def _limit_resources():
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    used = 0
    with suppress(OSError), open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limits = {
        resource.RLIMIT_AS: used + max(total, _FEWEST_BYTES),
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: _MOST_WRITTEN,
    }
    for name, most in limits.items():
        hard = resource.getrlimit(name)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):  # macOS has no limit of addresses
            resource.setrlimit(name, (most, most))


def _limit_seconds(seconds):
    if resource is None:
        return
    hard = most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if seconds is not None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        most = int(usage.ru_utime + usage.ru_stime + seconds) + 1
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (most, hard))
