"""What closes the process that asks models of strangers, asked of systems that keep what they hear.

The real system, in a real process, is asked in ``test_sandbox.py``.
"""

import ctypes
import io
import json
import os
import signal
import sys
from types import SimpleNamespace as NS

import pytest

from skmia._core import sandbox, walls

resource = pytest.importorskip("resource")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="what is closed is of Linux")

ALLOWED, REFUSED, UNKNOWN = 0x7FFF0000, 0x00050001, 0x00050026  # 1 is EPERM, 38 is ENOSYS
X86, ARM = (0, 0xC000003E), (1, 0xC00000B7)


def run_filter(lines, call, processor, first=0, second=0):
    """Return what a filter answers to a system call, by the rules of the machine that reads it."""
    given, held, place = {0: call, 4: processor, 16: first, 24: second}, None, 0
    while True:
        code, if_true, if_false, value = lines[place]
        place += 1
        if code == 0x20:
            held = given[value]
        elif code == 0x06:
            return value
        else:
            is_so = {0x15: held == value, 0x35: held >= value}[code]
            place += if_true if is_so else if_false


# Numbers of calls that no model does without, and of some of those that are refused.
OPEN = {X86: [0, 1, 9, 53, 56, 62, 202, 231, 257, 462], ARM: [63, 64, 98, 199, 220, 222, 462]}
CLOSED = {X86: [41, 59, 90, 101, 165, 272, 321, 425], ARM: [198, 221, 53, 117, 40, 97, 280, 425]}
LIMITS, CONTROL = {X86: 302, ARM: 261}, {X86: 16, ARM: 29}


@pytest.mark.parametrize("machine", [X86, ARM], ids=["x86", "arm"])
def test_the_filter_refuses_its_calls_and_no_others(machine):
    place, processor = machine
    lines = walls._write_filter(place, processor)
    refused = [numbers[place] for numbers in walls._REFUSED.values() if numbers[place] is not None]
    assert len({*refused}) == len(refused) > 60 and {*CLOSED[machine]} <= {*refused}
    found = {call: run_filter(lines, call, processor) for call in range(463)}
    assert {call for call, answer in found.items() if answer == REFUSED} == {*refused}
    assert {found[call] for call in OPEN[machine]} == {ALLOWED}
    assert {*found.values()} == {ALLOWED, REFUSED}
    # Newer calls, and those of another processor, such as one of half the width.
    for call in (463, 999, 1 << 30):
        assert run_filter(lines, call, processor) == UNKNOWN
    assert run_filter(lines, 1, processor + 1) == REFUSED
    # The limits of other processes; zero is the process itself.
    assert run_filter(lines, LIMITS[machine], processor, first=0) == ALLOWED
    assert run_filter(lines, LIMITS[machine], processor, first=7) == REFUSED
    # Controls that type into a terminal, or set attributes.
    for control in (0x5412, 0x541C, 0x40086602, 0x401C5820):
        assert run_filter(lines, CONTROL[machine], processor, second=control) == REFUSED
        assert run_filter(lines, CONTROL[machine], processor, second=control + 1) == ALLOWED
        assert run_filter(lines, OPEN[machine][0], processor, second=control) == ALLOWED


class System:
    """A system that keeps what it is asked, and has files for the rules that it is given."""

    def __init__(self, version=6, has_rules=True, failed=0, unshared=(0,), filtered=0):
        self.version, self.has_rules, self.failed = version, has_rules, failed
        self.unshared, self.filtered, self.heard = list(unshared), filtered, []
        self.closed, self.rules = None, {}

    def syscall(self, number, *given):
        self.heard.append(number)
        plain = [getattr(one, "value", one) for one in given]
        if number == 444 and plain == [None, 0, 1]:
            return self.version
        if number == 444:
            self.closed = [*plain[0]], plain[1], plain[2]
            self.file = os.open(os.devnull, os.O_RDONLY) if self.has_rules else -1
            return self.file
        assert plain[0] == self.file
        if number == 445:
            allowed, place = plain[2][:8], plain[2][8:]
            path = os.readlink(f"/proc/self/fd/{int.from_bytes(place, sys.byteorder)}")
            self.rules[path] = int.from_bytes(allowed, sys.byteorder)
            assert (plain[1], plain[3], len(place)) == (1, 0, 4)
            return 0
        assert number == 446 and plain[1:] == [0]
        return self.failed

    def prctl(self, option, *given):
        self.heard.append((option, *given))
        return self.filtered

    def unshare(self, flags):
        self.heard.append(flags)
        return self.unshared.pop(0)


@pytest.fixture
def ask(monkeypatch):
    def use(**settings):
        system = System(**settings)
        monkeypatch.setattr(walls, "_load_system", lambda: system)
        return system

    return use


FILES_OF = {1: 8191, 2: 16383, 3: 32767, 4: 32767, 5: 65535, 6: 65535, 7: 65535}


@LINUX
@pytest.mark.parametrize("version", FILES_OF)
def test_each_version_of_landlock_closes_what_it_knows(version, ask, tmp_path):
    system, n_open = ask(version=version), len(os.listdir("/proc/self/fd"))
    assert walls._restrict_files([str(tmp_path)]) == version
    # All kinds of access but reading files and folders; the network from 4 on, signals from 6 on.
    handled = FILES_OF[version] - 4 - 8
    network, signals = 3 * (version >= 4), 3 * (version >= 6)
    size = 8 + 8 * (version >= 4) + 8 * (version >= 6)
    assert system.closed == ([handled, network, signals], size, 0)
    # In its folders all but to run programs, in the file of nothing to write.
    assert system.rules == {str(tmp_path): handled - 1, os.devnull: 2}
    assert system.heard == [444, 444, 445, 445, 446]
    assert len(os.listdir("/proc/self/fd")) == n_open


@LINUX
@pytest.mark.parametrize(
    ("settings", "n_asked"),
    [({"version": 0}, 1), ({"version": -1}, 1), ({"has_rules": False}, 2), ({"failed": -1}, 4)],
)
def test_files_that_stay_open_are_told(settings, n_asked, ask):
    system = ask(**settings)
    assert walls._restrict_files([]) == 0 and len(system.heard) == n_asked


def test_the_filter_is_given_whole(ask, monkeypatch):
    for machine, numbers in (("x86_64", X86), ("aarch64", ARM)):
        monkeypatch.setattr(walls.platform, "machine", lambda machine=machine: machine)
        system, lines = ask(), walls._write_filter(*numbers)
        assert walls._filter_calls() is True
        ((option, kind, given, *rest),) = system.heard
        assert (option, kind, rest) == (22, 2, [0, 0])
        program = given._obj
        told = [program.start[k] for k in range(program.length)]
        assert [(one.code, one.if_true, one.if_false, one.value) for one in told] == lines
        ask(filtered=-1)
        assert walls._filter_calls() is False
    monkeypatch.setattr(walls.platform, "machine", lambda: "riscv64")
    system = ask()
    assert walls._filter_calls() is False and not system.heard
    monkeypatch.setattr(walls.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(walls.sys, "maxsize", 2**31 - 1)  # of half the width
    assert walls._filter_calls() is False and not system.heard


FILES, PROGRAMS, NETWORK, CHANGES, SIGNALS = walls.DOORS


@pytest.mark.parametrize(
    ("version", "is_filtered", "unshared", "doors"),
    [
        (6, True, [0], []),
        (5, True, [0], [SIGNALS]),
        (1, False, [0], [CHANGES, SIGNALS]),
        (1, False, [-1, 0], [CHANGES, SIGNALS]),
        (6, False, [-1, -1], [NETWORK, CHANGES]),
        (6, True, [-1, -1], []),
        (0, True, [0], [FILES, SIGNALS]),
        (0, False, [0], [FILES, PROGRAMS, CHANGES, SIGNALS]),
        (0, False, [-1, -1], [*walls.DOORS]),
    ],
)
def test_each_wall_closes_its_doors(version, is_filtered, unshared, doors, ask, monkeypatch):
    files, system = {}, ask(unshared=unshared)

    def find(path, mode):
        files[path, mode] = io.StringIO()
        files[path, mode].close = lambda: None
        return files[path, mode]

    def restrict(places):
        system.heard.append(("files", *places))
        return version

    monkeypatch.setattr(walls.sys, "platform", "linux")
    monkeypatch.setattr(walls, "open", find, raising=False)
    monkeypatch.setattr(walls, "_restrict_files", restrict)
    monkeypatch.setattr(walls, "_filter_calls", lambda: system.heard.append("calls") or is_filtered)
    assert walls.build_walls(["place"]) == doors
    # It dies with its program, and first where memory ends; a filter is for those without rights.
    (told,) = files.values()
    assert [*files] == [("/proc/self/oom_score_adj", "w")] and told.getvalue() == "1000"
    networks = [0x40000000, 0x50000000][: len(unshared)]
    expected = [(1, 9, 0, 0, 0), *networks, (38, 1, 0, 0, 0), ("files", "place"), "calls"]
    assert system.heard == expected


# What the process does to itself before it is asked.

LIMIT_NAMES = {"RLIMIT_AS": 9, "RLIMIT_CORE": 4, "RLIMIT_FSIZE": 1, "RLIMIT_CPU": 0}


def use_limits(monkeypatch, hard=(), refused=()):
    """Let limits be those of a system that keeps them, with some hard ones."""
    found = {}

    def set_limit(name, pair):
        if name in refused:
            raise ValueError("not here")
        found[name] = pair

    limits = NS(
        **LIMIT_NAMES,
        RLIM_INFINITY=-1,
        RUSAGE_SELF=0,
        getrlimit=lambda name: (-1, dict(hard).get(name, -1)),
        setrlimit=set_limit,
        getrusage=lambda who: {0: NS(ru_utime=1.5, ru_stime=2.25)}[who],
    )
    monkeypatch.setattr(sandbox, "resource", limits)
    return found


@pytest.mark.parametrize(
    ("hard", "seconds", "limits"),
    [
        (-1, None, (-1, -1)),
        (-1, 5, (9, -1)),  # 8.75 seconds, and the rest of the last one
        (100, 5.25, (10, 100)),
        (4, 5, (4, 4)),
        (100, None, (100, 100)),
    ],
)
def test_seconds_are_counted_from_those_that_are_over(hard, seconds, limits, monkeypatch):
    found = use_limits(monkeypatch, {0: hard})
    sandbox._limit_seconds(seconds)
    assert found == {0: limits}
    monkeypatch.setattr(sandbox, "resource", None)
    sandbox._limit_seconds(5)
    assert found == {0: limits}


@LINUX
def test_memory_and_files_are_limited(monkeypatch):
    page, pages = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_PHYS_PAGES")
    found = use_limits(monkeypatch)
    sandbox._limit_resources()
    assert found[4] == (0, 0) and found[1] == (2**30, 2**30)
    used = found[9][0] - max(page * pages, 2**32)
    assert page < used < 2**45 and used % page == 0 and found[9][0] == found[9][1]
    # Of a small machine four gigabytes, what the system allows at most, and what has no limit.
    monkeypatch.setattr(sandbox.os, "sysconf", lambda name: 4096)
    found = use_limits(monkeypatch, {1: 1000})
    sandbox._limit_resources()
    assert found[1] == (1000, 1000) and 2**32 < found[9][0]
    found = use_limits(monkeypatch, refused=[9])
    sandbox._limit_resources()
    assert found == {4: (0, 0), 1: (2**30, 2**30)}


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_what_the_process_does_not_need_is_closed(way, monkeypatch):
    heard = []

    def note(name, answer=None):
        return lambda *given: heard.append((name, *given)) or answer

    system = NS(
        environ={},
        name="posix",
        devnull="nothing",
        O_RDWR=2,
        setsid=note("session"),
        open=note("open", 30),
        dup2=note("same"),
        sysconf=lambda name: {"SC_OPEN_MAX": 20}[name],
        closerange=note("close"),
    )
    signals = {name: getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT", "SIG_DFL")}
    places = NS(tempdir=None)
    monkeypatch.setattr(sandbox, "os", system)
    monkeypatch.setattr(sandbox, "signal", NS(signal=note("signal"), SIG_IGN=1, **signals))
    monkeypatch.setattr(sandbox, "tempfile", places)
    monkeypatch.setattr(sandbox, "faulthandler", NS(disable=note("faults")))
    monkeypatch.setattr(sandbox, "sys", NS(platform="linux" if way == "fork" else "darwin"))
    monkeypatch.setattr(sandbox, "multiprocessing", NS(get_start_method=lambda **_: way))
    monkeypatch.setattr(sandbox, "_limit_resources", note("limits"))
    sandbox._close_files([9, 5], ["place", "other"])
    assert system.environ == {"OMP_NUM_THREADS": "1"} and places.tempdir == "place"
    began = [("faults",), ("session",)]
    began += [("signal", signal.SIGTERM, signal.SIG_DFL), ("signal", signal.SIGHUP, signal.SIG_DFL)]
    began += [("signal", signal.SIGINT, 1), ("open", "nothing", 2)]
    began += [("same", 30, 0), ("same", 30, 1), ("same", 30, 2)]
    # All files but the pipes, which a process that starts anew does not have.
    closed = [("close", 3, 5), ("close", 6, 9), ("close", 10, 20)] if way == "fork" else []
    assert heard == [*began, *closed, ("limits",)]
    heard.clear()
    system.name = "nt"
    sandbox._close_files([9, 5], ["place"])
    assert heard == [("faults",)]


class Pipe:
    """A pipe that is asked some questions and then ends."""

    def __init__(self, *asked):
        self.asked, self.sent = list(asked), []

    def fileno(self):
        return 7

    def recv(self):
        if not self.asked:
            raise EOFError
        return self.asked.pop(0)

    def send_bytes(self, content):
        self.sent.append(content)


class OwnError(KeyError):
    pass


def answer(value):
    if isinstance(value, str):
        raise OwnError(value)
    return {"doubled": 2 * value, "other": complex(value)}


def test_questions_are_answered_until_the_pipe_ends(monkeypatch):
    seconds, kept = [], []
    monkeypatch.setattr(sandbox, "_close_files", lambda *given: kept.append(given))
    monkeypatch.setattr(sandbox, "build_walls", lambda places: [*places, "a door"])
    monkeypatch.setattr(sandbox, "_limit_seconds", seconds.append)
    monkeypatch.setattr(sandbox, "_MOST_TEXT", 30)
    monkeypatch.setattr(sandbox, "_is_apart", False)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, getattr(sys, name))
    pipe, says = Pipe((None, (3,)), (2.5, ("w" * 99,)), (1.0, ())), Pipe()
    sandbox._serve(pipe, says, answer, ["place"], True)
    said = sys.stderr
    print("lost")
    sys.stdout.close()
    assert kept == [([7, 7], ["place"])] and seconds == [None, 2.5, 1.0]
    assert sandbox.is_apart() == (sys.platform == "linux")
    doors, value, own, wrong = map(json.loads, pipe.sent)
    assert doors == ["place", "a door"]
    assert value == {"value": {"doubled": 6, "other": "(3+0j)"}}
    assert own["error"][:3] == ["OwnError", "KeyError", "LookupError"]
    assert own["error"][-1] == "object" and "www" in own["text"]
    # The end of the trace tells what was wrong.
    assert len(own["text"]) == len(own["trace"]) == 30 and own["trace"].endswith("www'\n")
    assert wrong["error"][0] == "TypeError"
    assert isinstance(said, sandbox._CopiedErrors) and said.isatty()


def test_what_is_said_is_sent_in_pieces(monkeypatch):
    pipe = Pipe()
    said = sandbox._CopiedErrors(pipe, False)
    monkeypatch.setattr(sandbox, "_MOST_SAID", 4)
    assert said.isatty() is False and said.encoding == "utf-8"
    assert said.write("abcdefghi") == 9 and said.write("\u00e9\ud800") == 2
    assert pipe.sent == [b"abcd", b"efgh", b"i", b"\xc3\xa9\\ud800"]

    def fail(content):
        raise BrokenPipeError

    pipe.send_bytes = fail  # the terminal is gone
    assert said.write("abc") == 3
    assert ctypes.sizeof(walls._FilterInstruction) == 8
