"""A process of its own for models of strangers: it opens the file and is asked, and may crash.

Compiled code takes the numbers of a model for valid ones. A forged model can make it crash, run
without end, or write into memory. What happens then happens in a process that has nothing to
write to but its pipes, an empty temporary folder and folders that it was given, whose memory and
time are limited, and whose replies are read as JSON, never as pickles.
"""

import ctypes
import faulthandler
import io
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from contextlib import suppress
from functools import cache
from itertools import pairwise

from joblib import parallel_config
from threadpoolctl import threadpool_limits

from .foreign_words import describe_error
from .progress import draws_bars
from .visible import visible_lines

try:
    import resource
except ImportError:  # Windows
    resource = None

# Seconds of computing for one question; a process that sleeps gets some more.
_SECONDS = "SKMIA_MODEL_SECONDS"
_USUAL_SECONDS = 600.0
_PATIENCE = 60.0
_MOST_REPLIED = 2**27  # bytes
_MOST_TEXT = 10_000  # characters of an error
_MOST_SAID = 500  # characters that are sent at once, in one piece
_MOST_WRITTEN = 2**30  # bytes of a file
_FEWEST_BYTES = 2**32  # of memory, on a small machine
_LAST_WORDS = 1.0  # seconds for text that is on its way when the process is ended


class ModelEndedError(ValueError):
    """The process that asked a model ended, or did not answer."""

    def __init__(self, why):
        super().__init__(
            f"The model ended the process that asked it ({why}); it may be damaged or forged."
        )


class Apart:
    """A function that is called in a process of its own."""

    # What its Python code writes to the standard error is copied to that of the program, with
    # control characters written out.

    def __init__(self, function, errors=(), folders=()):
        self._errors = {kind.__name__: kind for kind in (*_ERRORS, *errors)}
        self._folder = tempfile.TemporaryDirectory(prefix="skmia-", ignore_cleanup_errors=True)
        context = multiprocessing.get_context(_choose_start())
        self._pipe, there = context.Pipe()
        self._said, says = context.Pipe(duplex=False)
        places = [self._folder.name, *folders]
        # No daemon, which could not start the processes that train models.
        self._process = context.Process(
            target=_serve, args=(there, says, function, places, draws_bars(sys.stderr))
        )
        start_process(self._process)
        there.close()
        says.close()
        self._copies = threading.Thread(target=_copy, args=(self._said,), daemon=True)
        self._copies.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, *arguments, is_limited=True):
        """Call the function in the process."""
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
            reply = json.loads(reply)
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
        self._kill()
        self._process.join()
        self._pipe.close()
        self._copies.join(_LAST_WORDS)
        self._folder.cleanup()

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
        if is_late or (seconds and code == -getattr(signal, "SIGXCPU", 0)):
            return f"no answer in {seconds:g} seconds"
        if code is None:
            return "a closed pipe"
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def ask_apart(function, *arguments, errors=()):
    """Call a function once in a process of its own; see :class:`Apart`."""
    with Apart(function, errors) as process:
        return process.ask(*arguments)


def start_process(process):
    """Start a process of multiprocessing, also if this one has threads."""
    with warnings.catch_warnings():
        # Python warns of threads that a forked process lacks; this one starts its own.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()


def is_apart():
    """Whether this process may start no program and write no file, but may fork."""
    return _is_apart


_is_apart = False


def _copy(said):
    """Copy what a process says; of control characters only those that begin a line."""
    with suppress(EOFError, OSError), said:  # of the process, which ends or sends something else
        while True:
            text = said.recv_bytes(_MOST_TEXT).decode("utf-8", "backslashreplace")
            with suppress(OSError, ValueError):  # of a terminal that is gone
                sys.stderr.write("\r".join(map(visible_lines, text.split("\r"))))
                sys.stderr.flush()


def read_seconds():
    """Seconds of computing that a question to a model may take."""
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
    sys.stdout, sys.stderr = open(os.devnull, "w"), _Said(says, draws)
    _close_doors([pipe.fileno(), says.fileno()], places)
    _is_apart = sys.platform == "linux"
    while True:
        try:
            seconds, arguments = pipe.recv()
        except EOFError:
            return
        _limit_seconds(seconds)
        try:
            # The processes of joblib are programs, and its threads share locks that are files.
            with threadpool_limits(1), parallel_config("sequential"):
                reply = json.dumps({"value": function(*arguments)}, default=str)
        except Exception as error:
            names = [kind.__name__ for kind in type(error).__mro__]
            trace = traceback.format_exc()[-_MOST_TEXT:]
            reply = json.dumps(
                {"error": names, "text": describe_error(error)[:_MOST_TEXT], "trace": trace}
            )
        pipe.send_bytes(reply.encode())


class _Said(io.TextIOBase):
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


def _close_doors(kept, places):
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
    if sys.platform == "linux":
        _isolate(places)


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


# Numbers of Linux, the same on all processors.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SET_PDEATHSIG, _SET_NO_NEW_PRIVS = 1, 38
_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
# Kinds of access to files by the version of Landlock that first knew them.
_ACCESS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_SIZES = {1: 8, 4: 16, 6: 24}  # of the structure


@cache
def _load_system():
    return ctypes.CDLL(None, use_errno=True)


def _isolate(places):
    """Close the network, and files elsewhere to writing, as far as the kernel lets it do so."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # where the memory of the machine ends, this process does
    system = _load_system()
    system.prctl(_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if system.unshare(_NEW_NETWORK):
        system.unshare(_NEW_NETWORK | _NEW_USER)
    system.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = system.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    if version < 1:
        return
    files = sum(access for first, access in _ACCESS.items() if first <= version)
    handled = files & ~(_READ_FILE | _READ_DIR)
    network, scopes = 3 if version >= 4 else 0, 3 if version >= 6 else 0
    size = max((first, size) for first, size in _SIZES.items() if first <= version)[1]
    closed = (ctypes.c_uint64 * 3)(handled, network, scopes)
    ruleset = system.syscall(_CREATE_RULESET, closed, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return
    rules = dict.fromkeys(places, handled & ~_EXECUTE) | {os.devnull: _WRITE_FILE}
    for path, allowed in rules.items():
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = allowed.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
        system.syscall(_ADD_RULE, ruleset, ctypes.c_int(1), rule, ctypes.c_uint32(0))
        os.close(place)
    system.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)
