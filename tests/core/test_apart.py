"""A process that asks models of strangers: what it replies, how it ends, and what it cannot do."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from skmia._core import apart
from skmia._core.apart import Apart, ModelEndedError, ask_apart

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="what is closed is of Linux")


@pytest.fixture(autouse=True)
def little_time(monkeypatch):
    monkeypatch.setenv("SKMIA_MODEL_SECONDS", "2")


def repeat(value):
    return value


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        0.1,
        float("inf"),
        "a\n\u202e\ud800",
        [1, [2, "b"], None],
        {"a": [1.5], 3: {}},
        np.arange(6.0).reshape(2, 3),
        np.arange(6, dtype=np.int32).reshape(2, 3).T,
        np.zeros((0, 4)),
        np.array(["one", "three"]),
        np.array(5),
        {"deep": [np.eye(2), {"x": np.array([True, False])}]},
    ],
    ids=repr,
)
def test_replies_are_what_the_function_returned(value):
    found = ask_apart(repeat, value)
    np.testing.assert_equal(found, value)
    if isinstance(value, np.ndarray):
        assert found.dtype == value.dtype


def test_texts_in_arrays_of_objects():
    found = ask_apart(repeat, np.array(["a", 1, None], dtype=object))
    assert found.dtype == object and found.tolist() == ["a", 1, None]


class Counter:
    def __init__(self):
        self.n_asked = 0

    def __call__(self):
        self.n_asked += 1
        return [self.n_asked, os.getpid()]


def test_a_process_keeps_what_it_opened():
    with Apart(Counter()) as process:
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
    for kind in (ValueError, TypeError, ImportError, FileNotFoundError, KeyError):
        with pytest.raises(kind, match="why"):
            ask_apart(refuse, kind)
    with pytest.raises(ValueError, match="why"):
        ask_apart(refuse, np.linalg.LinAlgError)
    with pytest.raises(RuntimeError, match="why"):
        ask_apart(refuse, OwnError)


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
        (never_return, "no answer in 2 seconds"),
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
    monkeypatch.setattr(apart, "_PATIENCE", 0.3)
    with pytest.raises(ModelEndedError, match="no answer in 0.1 seconds"):
        ask_apart(time.sleep, 100)


def reply_with(content):
    """Write other bytes into the pipe than a reply."""
    for number in range(3, 100):
        try:
            os.write(number, len(content).to_bytes(4, "big") + content)
        except OSError:
            continue
        return


@LINUX
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff" * 20,
        (2).to_bytes(8, "big") + b"[]",
        (12).to_bytes(8, "big") + b'["value", {}]',
        (49).to_bytes(8, "big") + b'["value", {"dtype": "|O", "shape": [10000000]}]  ',
        (49).to_bytes(8, "big") + b'["value", {"dtype": "<f8", "shape": [100000000]}]',
        (10**6).to_bytes(8, "big") + b"[" * 10**6,
    ],
    ids=range(7),
)
def test_other_replies_are_refused(content):
    with pytest.raises(ModelEndedError, match="a reply that cannot be read"):
        ask_apart(reply_with, content)


def test_a_pickle_is_not_read():
    class Bomb:
        def __reduce__(self):
            return pytest.fail, ("a pickle was read",)

    assert isinstance(ask_apart(Bomb), str)


def write_into(path):
    Path(path).write_text("forged")


def remove(path):
    os.remove(path)


def has_landlock():
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None)
    return system.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1)) >= 1


LANDLOCK = pytest.mark.skipif(not has_landlock(), reason="this kernel has no Landlock")


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
def test_it_starts_no_program():
    with pytest.raises(OSError, match="denied"):
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


@pytest.mark.parametrize("text", ["", "no", "-1", "0", "nan", "inf"])
def test_the_limit_is_a_number_of_seconds(text, monkeypatch):
    monkeypatch.setenv("SKMIA_MODEL_SECONDS", text)
    with pytest.raises(ValueError, match="SKMIA_MODEL_SECONDS must be a number of seconds above 0"):
        ask_apart(repeat, 1)


def test_a_process_that_starts_anew_does_the_same(monkeypatch):
    """As on systems without a fork that libraries allow."""
    monkeypatch.setattr(apart, "_choose_start", lambda: "spawn")
    monkeypatch.setenv("SKMIA_MODEL_SECONDS", "60")
    np.testing.assert_equal(ask_apart(np.add, np.arange(3), 1), np.arange(1, 4))
