"""A process that asks models of strangers: what it replies, how it ends, and what it cannot do."""

import ctypes
import errno
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import delayed
from landlock import LANDLOCK
from threadpoolctl import threadpool_info, threadpool_limits

from skmia._core import sandbox, walls
from skmia._core.sandbox import ModelEndedError, Sandbox, ask_apart
from skmia._training.workers import run_tasks
from skmia.exceptions import CheckpointError, TrainingError

fcntl, resource = map(pytest.importorskip, ("fcntl", "resource"))
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="what is closed is of Linux")


@pytest.fixture(autouse=True)
def little_time(monkeypatch):
    monkeypatch.setenv("SKMIA_MODEL_SECONDS", "0.1")


def repeat(value):
    return value


def test_replies_are_what_the_function_returned():
    values = [None, True, -3, 0.1, float("inf"), "a\n\u202e\ud800"]
    values += [[1, [2, "b"], None], {"a": [1.5], "b": {}}]
    with Sandbox(repeat) as process:
        for value in values:
            found = process.ask(value)
            assert (type(found), found) == (type(value), value)


class Counter:
    def __init__(self):
        self.n_asked = 0

    def __call__(self):
        self.n_asked += 1
        return [self.n_asked, os.getpid()]


def test_a_process_keeps_what_it_opened():
    with Sandbox(Counter()) as process:
        replies = [process.ask() for _ in range(3)]
    assert [number for number, _ in replies] == [1, 2, 3]
    (worker,) = {number for _, number in replies}
    assert worker != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)


def refuse(kind):
    raise kind("why")


class OwnError(Exception):
    pass


def test_errors_are_those_of_the_function():
    with Sandbox(refuse) as process:
        for kind in (ValueError, TypeError, ImportError, FileNotFoundError, KeyError):
            with pytest.raises(kind, match="why"):
                process.ask(kind)
        for kind in (np.linalg.LinAlgError, CheckpointError):
            with pytest.raises(ValueError, match="why"):
                process.ask(kind)
    for errors, raised in (((), RuntimeError), ((OwnError,), OwnError)):
        with pytest.raises(raised, match="why") as caught:
            ask_apart(refuse, OwnError, errors=errors)
        assert "in refuse\n" in caught.value.__notes__[0]


def crash():
    ctypes.string_at(0)


def never_return():
    while True:
        pass


def take_memory():
    return len(bytearray(2**45))


@LINUX
@pytest.mark.parametrize(
    "function, why",
    [
        (crash, "signal 11"),
        (os.abort, "signal 6"),
        (lambda: signal.raise_signal(signal.SIGXCPU), "no answer in 0.1 seconds"),
        # The system counts whole seconds.
        pytest.param(never_return, "no answer in 0.1 seconds", marks=pytest.mark.slow),
        (take_memory, "too little memory"),
        (lambda: os._exit(7), "exit code 7"),
    ],
)
def test_its_end_is_one_sentence(function, why):
    with pytest.raises(ModelEndedError) as caught:
        ask_apart(function)
    assert str(caught.value) == (
        f"The model ended the process that asked it ({why}); it may be damaged or forged."
    )


def test_one_that_sleeps_is_ended(monkeypatch):
    monkeypatch.setenv("SKMIA_MODEL_SECONDS", "0.1")
    monkeypatch.setattr(sandbox, "_PATIENCE", 0.3)
    with pytest.raises(ModelEndedError, match="no answer in 0.1 seconds"):
        ask_apart(time.sleep, 100)


@pytest.mark.parametrize("text", ["0", "-1", "1e8", "nan", "inf", "soon", ""])
def test_seconds_that_are_none_are_refused(monkeypatch, text):
    monkeypatch.setenv("SKMIA_MODEL_SECONDS", text)
    message = "SKMIA_MODEL_SECONDS must be a number of seconds above 0"
    with pytest.raises(ValueError, match=message):
        sandbox.read_seconds()
    if text == "soon":  # a process for each would take a tenth of a second
        with pytest.raises(ValueError, match=message):
            ask_apart(repeat, 1)


@LINUX
def test_only_a_question_that_is_limited_ends(monkeypatch):
    """What was computed before is not counted."""
    used = SimpleNamespace(ru_utime=50.75, ru_stime=6.5)
    monkeypatch.setattr(resource, "getrusage", lambda whose: used)
    monkeypatch.setenv("SKMIA_MODEL_SECONDS", "0.25")
    monkeypatch.setattr(sandbox, "_PATIENCE", -0.4)  # which leaves 0.1 seconds
    with Sandbox(sleep_and_read_limit) as process:
        assert process.ask(0.3, is_limited=False) == resource.getrlimit(resource.RLIMIT_CPU)[1]
        assert process.ask(0) == 58
        with pytest.raises(ModelEndedError, match="no answer in 0.25 seconds"):
            process.ask(100)


def sleep_and_read_limit(seconds):
    time.sleep(seconds)
    return resource.getrlimit(resource.RLIMIT_CPU)[0]


def reply_with(content):
    """Write other bytes into the pipe than a reply."""
    for number in range(3, 100):
        try:
            os.write(number, len(content).to_bytes(4, "big") + content)
        except OSError:
            continue
        return


OTHER_REPLIES = [
    b"",
    b"\xff" * 20,
    b"[]",
    b"{}",
    b"null",
    b'"value"',
    b'{"error": 3, "text": "", "trace": ""}',
    b'{"error": [[]], "text": "", "trace": ""}',
    b'{"error": ["ValueError"]}',
    b"[" * 10**6,
]


@LINUX
def test_other_replies_are_refused(monkeypatch):
    with pytest.raises(ModelEndedError, match="a reply that cannot be read"):
        ask_apart(reply_with, OTHER_REPLIES[1])
    with Sandbox(repeat) as process:
        assert process.ask(1) == 1
        for content in OTHER_REPLIES:  # as if the process had written it
            pipe = SimpleNamespace(send=len, recv_bytes=lambda most, content=content: content)
            with monkeypatch.context() as patch:
                patch.setattr(process, "_pipe", pipe)
                with pytest.raises(ModelEndedError, match="a reply that cannot be read"):
                    process.ask(1)


def test_a_pickle_is_not_read():
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("a pickle was read",)

    assert isinstance(ask_apart(Bomb), str)


def write_into(path):
    Path(path).write_text("forged")


def remove(path):
    os.remove(path)


@LANDLOCK
def test_it_writes_no_file(tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    for function, path in ((write_into, kept), (write_into, tmp_path / "new"), (remove, kept)):
        with pytest.raises(OSError, match="denied"):
            ask_apart(function, str(path))
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert kept.read_text() == "as it was"


def write_temporary():
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(b"content")
    return file.name


def test_its_temporary_files_go_with_it():
    assert not Path(ask_apart(write_temporary)).exists()


@LANDLOCK
def test_it_writes_into_a_folder_that_it_was_given(tmp_path):
    given, other = tmp_path / "given", tmp_path / "other"
    given.mkdir()
    other.mkdir()
    with Sandbox(write_into, folders=[given]) as process:
        assert process.ask(str(given / "new")) is None
        with pytest.raises(OSError, match="denied"):
            process.ask(str(other / "new"))
    assert [path.name for path in tmp_path.rglob("new")] == ["new"]


def say(text):
    print(text, file=sys.stderr)
    print("nothing is said here")
    os.write(2, b"nor here\n")


def test_what_it_says_cannot_move_the_terminal(capfd):
    forged = "a\x1b[2Jb\u202ec\ud800\n\rd\x9b" + 2000 * "x"
    ask_apart(say, forged)
    written_out = forged.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    written_out = written_out.replace("\ud800", "\\ud800").replace("\x9b", "\\x9b")
    assert capfd.readouterr() == ("", f"{written_out}\n")


def is_terminal():
    return sys.stderr.isatty()


def test_it_draws_bars_where_the_program_does(monkeypatch):
    assert not ask_apart(is_terminal)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert ask_apart(is_terminal)


def count_parts(function, numbers):
    return sorted(run_tasks((delayed(function)(number) for number in numbers), 2))


def square(number):
    return [number**2, os.getpid()]


@LINUX
def test_its_parts_are_copies_of_it():
    found = ask_apart(count_parts, square, list(range(5)))
    assert [number for number, _ in found] == [0, 1, 4, 9, 16]
    assert len({process for _, process in found}) == 5


@LINUX
def test_a_part_ends_the_whole_or_raises_its_error():
    with pytest.raises(ModelEndedError, match="signal 11"):
        ask_apart(count_parts, ctypes.string_at, [0, 0, 0])
    with pytest.raises(TrainingError, match=r"ended with exit code 7\."):
        ask_apart(count_parts, os._exit, [7], errors=(TrainingError,))
    with pytest.raises(KeyError, match="'why'"):
        ask_apart(count_parts, {}.__getitem__, ["why"])


@LANDLOCK
def test_it_starts_no_program():
    with pytest.raises(OSError, match="/bin/true"):
        ask_apart(lambda: subprocess.run(["/bin/true"], check=True).returncode)


def connect(port):
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        return True


@LANDLOCK
def test_it_has_no_network():
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(OSError):
        ask_apart(connect, server.getsockname()[1])


@LINUX
def test_files_that_were_open_are_closed(tmp_path):
    with open(tmp_path / "open", "w") as file:
        number = file.fileno()
        with pytest.raises(OSError, match="Bad file descriptor"):
            ask_apart(os.write, number, b"forged")
    assert (tmp_path / "open").read_text() == ""


def leave_child():
    number = os.fork()
    if not number:
        time.sleep(1000)
    return number


@LINUX
def test_what_it_started_ends_with_it():
    child = ask_apart(leave_child)
    for _ in range(200):
        try:
            state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    raise AssertionError("a process was left")


def test_a_process_that_starts_anew_does_the_same(monkeypatch):
    """As on systems without a fork that libraries allow."""
    monkeypatch.setattr(sandbox, "_choose_start", lambda: "spawn")
    monkeypatch.setenv("SKMIA_MODEL_SECONDS", "60")
    assert ask_apart(divmod, 7, 2) == [3, 1]


# What the system closes beside files: each door is tried by the code of a stranger.


def try_door(door, path):
    """Whether a door opens, from within."""
    system = ctypes.CDLL(None, use_errno=True)
    parent, machine = os.getppid(), os.uname().machine

    def call(numbers, *arguments):
        if system.syscall(numbers[machine != "x86_64"], *arguments) < 0:
            raise OSError(ctypes.get_errno(), "refused")

    doors = {
        "mode": lambda: os.chmod(path, 0o777),
        "mode of an open file": lambda: os.fchmod(os.open(path, os.O_RDONLY), 0o777),
        "owner": lambda: os.chown(path, os.getuid(), os.getgid()),
        "times": lambda: os.utime(path, (1, 1)),
        "attribute": lambda: os.setxattr(path, "user.a", b"b"),
        "attribute by a new call": lambda: call((463, 463), 0, path.encode(), 0, b"user.a", 0, 0),
        "length": lambda: os.truncate(path, 0),
        "local socket": lambda: socket.socket(socket.AF_UNIX),
        "socket": lambda: socket.socket(socket.AF_INET),
        "limit of another": lambda: resource.prlimit(parent, resource.RLIMIT_NOFILE, (64, 64)),
        "priority of another": lambda: os.setpriority(os.PRIO_PROCESS, parent, 19),
        "signal": lambda: os.kill(parent, 0),
        "session": lambda: os.fork() or os.setsid(),
        "group": lambda: os.setpgid(0, 0),
        "program": lambda: os.execv("/bin/true", ["true"]),
        "shared memory": lambda: call((29, 194), 0, 4096, 0o1600),
        "shared file": lambda: open("/dev/shm/skmia-door", "w"),
        "messages": lambda: call((68, 186), 0, 0o1600),
        "rings": lambda: call((425, 425), 4, None),
        "keys": lambda: call((250, 219), 0, -3, 1),
        "mount": lambda: call((165, 40), b"none", b"/tmp", b"tmpfs", 0, None),
        "memory of another": lambda: open(f"/proc/{parent}/mem", "rb"),
        "typing into a terminal": lambda: fcntl.ioctl(0, 0x5412, b"a"),
    }
    try:
        doors[door]()
    except OSError as error:
        return error.errno
    return 0


DOORS = (
    *("mode", "mode of an open file", "owner", "times", "attribute", "attribute by a new call"),
    *("length", "local socket", "socket", "limit of another", "priority of another", "signal"),
    *("group", "program", "shared memory", "shared file", "messages", "rings", "keys", "mount"),
    *("memory of another", "typing into a terminal"),
)


@pytest.fixture(scope="module")
def stranger():
    """A process that tries one door after the other."""
    with Sandbox(try_door) as process:
        yield process


@LANDLOCK
@pytest.mark.parametrize("door", DOORS)
def test_doors_are_closed(stranger, door, tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("as it was")
    kept.chmod(0o640)
    before = kept.stat()
    error = stranger.ask(door, str(kept))
    assert error in (errno.EPERM, errno.EACCES, errno.ENOSYS)
    assert (kept.stat().st_mode, kept.stat().st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert kept.read_text() == "as it was"


def leave_session():
    number = os.fork()
    if number:
        return os.waitpid(number, 0)[1]
    try:
        os.setsid()
    except PermissionError:
        os._exit(3)
    os._exit(0)


@LANDLOCK
def test_a_process_cannot_leave_its_session():
    assert os.waitstatus_to_exitcode(ask_apart(leave_session)) == 3


def list_thread_numbers():
    return [pool["num_threads"] for pool in threadpool_info()]


def test_its_libraries_have_one_thread():
    with threadpool_limits(2):
        assert 2 in list_thread_numbers()
        assert set(ask_apart(list_thread_numbers)) == {1}


@LINUX
def test_pipes_and_limits_of_its_own_still_work():
    assert ask_apart(lambda: resource.getrlimit(resource.RLIMIT_CORE)[0]) == 0
    assert ask_apart(lambda: len(multiprocessing.Pipe())) == 2


@LANDLOCK
def test_nothing_is_open_where_the_system_has_both_walls():
    with Sandbox(repeat) as process:
        if walls._load_system().syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1)) >= 6:
            assert process.open_doors == []
        assert process.ask(1) == 1


@LINUX
@pytest.mark.parametrize(
    ("missing", "stays_open", "closed"),
    [
        ({"_restrict_files": 0}, (walls.FILES, walls.SIGNALS), (walls.PROGRAMS, walls.CHANGES)),
        ({"_filter_calls": False}, (walls.CHANGES,), ()),
        ({"_restrict_files": 0, "_filter_calls": False}, (walls.FILES, walls.PROGRAMS), ()),
    ],
)
def test_a_wall_that_is_missing_is_told(missing, stays_open, closed, monkeypatch):
    for name, found in missing.items():
        monkeypatch.setattr(walls, name, lambda *_, found=found: found)
    with Sandbox(repeat) as process:
        doors = process.open_doors
    assert set(stays_open) <= set(doors)
    assert not set(closed) & set(doors)
    assert all(door in walls.tell_open_doors(doors) for door in doors)


def test_elsewhere_everything_is_open(monkeypatch):
    monkeypatch.setattr(walls.sys, "platform", "darwin")
    assert walls.build_walls([]) == list(walls.DOORS)
    assert walls.tell_open_doors([]) == ""


# What it makes is counted.


def make_files(n_files, n_bytes):
    folder = tempfile.mkdtemp()
    for number in range(n_files):
        Path(folder, str(number)).write_bytes(bytes(n_bytes))
    time.sleep(30)


def make_processes(count):
    for _ in range(count):
        if not os.fork():
            time.sleep(60)
            os._exit(0)
    time.sleep(30)


@LINUX
@pytest.mark.parametrize(
    ("limit", "function", "arguments", "why"),
    [
        (("_MOST_FILES", 50), make_files, (60, 1), "more than 50 temporary files"),
        (("_MOST_STORED", 10**6), make_files, (2, 10**6), "bytes of temporary files"),
        (("_MOST_PROCESSES", 2), make_processes, (4,), "more than 2 processes"),
    ],
)
def test_one_that_makes_too_much_is_ended(limit, function, arguments, why, monkeypatch):
    monkeypatch.setattr(sandbox, *limit)
    monkeypatch.setattr(os, "cpu_count", lambda: 1)  # each allows one process more
    monkeypatch.setattr(sandbox, "_COUNTS", 0.05)
    with pytest.raises(ModelEndedError, match=why):
        ask_apart(function, *arguments)


def test_replies_of_many_values_are_not_built(monkeypatch):
    monkeypatch.setattr(sandbox, "_MOST_VALUES", 1000)
    with Sandbox(repeat) as process:
        for text in (",[{" * 1000, '"\\,' * 1000):
            assert process.ask(text) == text
    for reply in ([[]] * 1000, [{}] * 1000, [0] * 1001):
        with pytest.raises(ModelEndedError, match="cannot be read"):
            ask_apart(repeat, reply)


def say_much(count):
    for _ in range(count):
        print(999 * "x", file=sys.stderr)


def test_what_it_says_without_end_is_left_out(monkeypatch, capfd):
    monkeypatch.setattr(sandbox, "_SAID_AT_ONCE", 10_000)
    monkeypatch.setattr(sandbox, "_SAID_PER_SECOND", 10)
    ask_apart(say_much, 100)
    assert 5_000 < len(capfd.readouterr().err) < 12_000
