"""A process of its own for models of strangers: it opens the file and is asked, and may crash.

Compiled code takes the numbers of a model for valid ones. A forged model can make it crash, run
without end, or write into memory. What happens then happens in a process that has nothing to
write to but its pipe and an empty temporary folder, whose memory and time are limited, and whose
replies are read as numbers and text, never as pickles.
"""

import ctypes
import faulthandler
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from functools import cache

import numpy as np
from threadpoolctl import threadpool_limits

try:
    import resource
except ImportError:  # Windows
    resource = None

# Seconds of computing for one question; a process that sleeps gets some more.
_SECONDS = "SKMIA_MODEL_SECONDS"
_USUAL_SECONDS = 600.0
_PATIENCE = 60.0
_MOST_REPLIED = 2**32  # bytes
_MOST_TEXT = 10_000  # characters of an error
_MOST_WRITTEN = 2**30  # bytes of a file in the temporary folder
_FEWEST_BYTES = 2**32  # of memory, on a small machine

_KINDS = "biufU"  # of arrays in a reply


class ModelEndedError(ValueError):
    """The process that asked a model ended, or did not answer."""

    def __init__(self, why):
        super().__init__(
            f"The model ended the process that asked it ({why}); it may be damaged or forged."
        )


class Apart:
    """A function that is called in a process of its own.

    Parameters
    ----------
    function : callable
        Called with what :meth:`ask` passes. It returns None, bool, numbers, text, arrays of them,
        or lists and dicts of these. What it keeps, it keeps in its process.
    errors : tuple of classes, default=()
        Further errors of the function that are raised here, beside those of Python. Other errors
        become a RuntimeError.
    """

    def __init__(self, function, errors=()):
        self._errors = {kind.__name__: kind for kind in (*_ERRORS, *errors)}
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory(prefix="skmia-", ignore_cleanup_errors=True)
        context = multiprocessing.get_context(_choose_start())
        self._pipe, there = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(there, function, self._folder.name), daemon=True
        )
        with warnings.catch_warnings():
            # Python warns of threads that a forked process lacks; this one starts its own.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        there.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, *arguments):
        """Call the function in the process.

        Raises
        ------
        ModelEndedError
            If the process ended, needed more than the limits, or replied with something else.
        """
        with self._lock:  # one question at a time, also of threads
            return self._ask(*arguments)

    def _ask(self, *arguments):
        seconds = read_seconds()
        late = threading.Event()
        # Twice the time of computing, as other programs may take half of a processor.
        watch = threading.Timer(2 * seconds + _PATIENCE, self._stop, [late])
        watch.start()
        try:
            self._pipe.send((seconds, arguments))
            reply = self._pipe.recv_bytes(_MOST_REPLIED)
        except (EOFError, OSError):
            raise ModelEndedError(self._describe_end(late.is_set(), seconds)) from None
        finally:
            watch.cancel()
        try:
            ending, value = _decode(reply)
            if ending != "value":
                kind, text = self._errors.get(ending, RuntimeError), str(value)
        except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
            raise ModelEndedError("a reply that cannot be read") from error
        if ending == "MemoryError":
            raise ModelEndedError("too little memory")
        if ending != "value":
            raise kind(text)
        return value

    def close(self):
        """End the process with all that it started, and remove its folder."""
        self._kill()
        self._process.join()
        self._pipe.close()
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
        if is_late or code == -getattr(signal, "SIGXCPU", 0):
            return f"no answer in {seconds:g} seconds"
        if code is None:
            return "a closed pipe"
        return f"signal {-code}" if code < 0 else f"exit code {code}"


def ask_apart(function, *arguments, errors=()):
    """Call a function once in a process of its own; see :class:`Apart`."""
    with Apart(function, errors) as process:
        return process.ask(*arguments)


def read_seconds():
    """Seconds of computing that a question to a model may take.

    Raises
    ------
    ValueError
        If the variable of the environment is no number above 0.
    """
    text = os.environ.get(_SECONDS)
    if text is None:
        return _USUAL_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = np.nan
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


def _serve(pipe, function, folder):
    _close_doors(pipe.fileno(), folder)
    warnings.simplefilter("ignore")
    while True:
        try:
            seconds, arguments = pipe.recv()
        except EOFError:
            return
        _limit_seconds(seconds)
        try:
            with threadpool_limits(1):
                reply = _encode("value", function(*arguments))
        except MemoryError:
            reply = _encode("MemoryError", "")
        except Exception as error:
            reply = _encode(_name_error(error), str(error)[:_MOST_TEXT])
        pipe.send_bytes(reply)


def _name_error(error):
    """The first class of an error that the program may know."""
    known = {kind.__name__ for kind in _ERRORS}
    names = [kind.__name__ for kind in type(error).__mro__]
    own = type(error).__module__.startswith("skmia.")
    return names[0] if own else next((name for name in names if name in known), names[0])


def _close_doors(kept, folder):
    os.environ["OMP_NUM_THREADS"] = "1"
    tempfile.tempdir = folder
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
        os.closerange(3, kept)
        os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX") if kept < 2**16 else kept + 2)
    _limit_resources()
    if sys.platform == "linux":
        _isolate(folder)


def _limit_resources():
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    used = 0
    with suppress(OSError), open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limits = {
        resource.RLIMIT_AS: used + max(total // 2, _FEWEST_BYTES),
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
    usage = resource.getrusage(resource.RUSAGE_SELF)
    most = int(usage.ru_utime + usage.ru_stime + seconds) + 1
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (most, hard))


# Numbers of Linux, the same on all processors.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_SET_PDEATHSIG, _SET_NO_NEW_PRIVS = 1, 38
_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_READ_FILE, _READ_DIR, _WRITE_FILE = 1 << 2, 1 << 3, 1 << 1
# Kinds of access to files by the version of Landlock that first knew them.
_ACCESS = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
_SIZES = {1: 8, 4: 16, 6: 24}  # of the structure


@cache
def _load_system():
    return ctypes.CDLL(None, use_errno=True)


def _isolate(folder):
    """Close the network and all files to writing, as far as the kernel lets this process do so."""
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
    rules = (ctypes.c_uint64 * 3)(handled, network, scopes)
    ruleset = system.syscall(_CREATE_RULESET, rules, ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return
    for path, allowed in ((folder, handled & ~1), (os.devnull, _WRITE_FILE)):
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        rule = allowed.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
        system.syscall(_ADD_RULE, ruleset, ctypes.c_int(1), rule, ctypes.c_uint32(0))
        os.close(place)
    system.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)


# Replies: a head in JSON, and the bytes of its arrays.


def _encode(ending, value):
    arrays = []
    head = json.dumps([ending, _plain(value, arrays)]).encode("utf-8", "surrogatepass")
    return b"".join([len(head).to_bytes(8, "big"), head, *(array.tobytes() for array in arrays)])


def _plain(value, arrays):
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in _KINDS:
            return {"list": [_plain(one, arrays) for one in value.tolist()], "is_array": True}
        arrays.append(np.ascontiguousarray(value))
        return {"dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, list | tuple):
        return {"list": [_plain(one, arrays) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[key, _plain(one, arrays)] for key, one in value.items()]}
    return value if isinstance(value, None | bool | int | float | str) else str(value)


def _decode(reply):
    size = int.from_bytes(reply[:8], "big")
    ending, value = json.loads(reply[8 : 8 + size].decode("utf-8", "surrogatepass"))
    rest = memoryview(reply)[8 + size :]
    if not isinstance(ending, str):
        raise ValueError("The reply has no ending.")
    value, rest = _open(value, rest)
    if len(rest):
        raise ValueError("The reply is longer than it says.")
    return ending, value


def _open(value, rest):
    """The value that a head stands for, and the bytes that are left."""
    if not isinstance(value, dict):
        return value, rest
    if "dtype" in value:
        dtype, shape = np.dtype(value["dtype"]), [int(size) for size in value["shape"]]
        if dtype.kind not in _KINDS or min(shape, default=0) < 0:
            raise ValueError("The reply holds something else than numbers.")
        size = dtype.itemsize * int(np.prod(shape, dtype=object))
        if size > len(rest):
            raise ValueError("The reply is shorter than it says.")
        array = np.frombuffer(rest[:size], dtype) if size else np.empty(0, dtype)
        return array.reshape(shape).copy(), rest[size:]
    if "list" in value:
        found = []
        for one in value["list"]:
            one, rest = _open(one, rest)
            found.append(one)
        return (np.array(found, dtype=object) if value.get("is_array") else found), rest
    pairs = {}
    for key, one in value["dict"]:
        pairs[key], rest = _open(one, rest)
    return pairs, rest
