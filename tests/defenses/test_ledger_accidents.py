"""Accidents of a ledger: none makes its epsilon smaller, and none makes it wait for ever."""

import copy
import errno
import json
import os
import pickle
import shutil
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from skmia._core import files
from skmia._training.digests import DigestWalker
from skmia.defenses import PrivacyLedger, _ledger

DELTA = 1e-5
LINES = [
    {"noise_multiplier": 2.0, "sample_rate": 1.0, "n_steps": 3, "n_rows": 50},
    {"noise_multiplier": 8.0, "sample_rate": 1.0, "n_steps": 16, "n_rows": 50},
    {"kind": "laplace", "noise_multiplier": 2.0, "sample_rate": 1.0, "n_steps": 1, "n_rows": 0},
    {"noise_multiplier": 1.0, "sample_rate": 1.0, "n_steps": 1, "n_rows": 9},
]
WARNINGS = (ValueError, OSError)
posix = pytest.mark.skipif(os.name != "posix", reason="needs processes and files of POSIX")


@pytest.fixture
def ledger(tmp_path):
    return write(PrivacyLedger(tmp_path / "fits.jsonl"))


def write(ledger, lines=LINES):
    for line in lines:
        ledger.record(**line)
    return ledger


def never_less(ledger, spent):
    """Check that a ledger is refused, or has spent at least as much; also after another fit."""
    for made in (ledger, PrivacyLedger(ledger.path), pickle.loads(pickle.dumps(ledger))):
        with suppress(*WARNINGS):
            assert made.epsilon(DELTA) >= spent
    with suppress(*WARNINGS):
        ledger.record(**LINES[-1])
        assert ledger.epsilon(DELTA) > spent


# Accidents: functions of the path, the lines of the file, and the file as it was two fits before.


def rewrite(change):
    def accident(path, lines, older):
        path.write_bytes(b"".join(change(list(lines))))

    return accident


def replace_text(old, new):
    def accident(path, lines, older):
        text = path.read_bytes()
        assert old in text
        path.write_bytes(text.replace(old, new, 1))

    return accident


def move(path, lines, older):
    path.rename(path.with_name("elsewhere.jsonl"))


def become_a_link(path, lines, older):
    other = path.with_name("other.jsonl")
    other.write_bytes(older)
    path.unlink()
    path.symlink_to(other)


def go_on_from_an_older_copy(path, lines, older):
    other = path.with_name("copy.jsonl")
    other.write_bytes(older)
    write(PrivacyLedger(other), [{**LINES[0], "noise_multiplier": 90.0}] * 3)
    os.replace(other, path)


def begin_another(path, lines, older):
    other = PrivacyLedger(path.with_name("other.jsonl"))
    write(other, [{**LINES[0], "noise_multiplier": 90.0}] * len(LINES))
    os.replace(other.path, path)


def become_a_folder(path, lines, older):
    path.unlink()
    path.mkdir()


def become_a_pipe(path, lines, older):
    path.unlink()
    os.mkfifo(path)


def lose_the_folder(path, lines, older):
    shutil.rmtree(path.parent)


def move_the_folder(path, lines, older):
    path.parent.rename(path.parent.with_name("moved"))


ACCIDENTS = {
    "removed": lambda path, lines, older: path.unlink(),
    "moved": move,
    "folder removed": lose_the_folder,
    "folder moved": move_the_folder,
    "emptied": lambda path, lines, older: path.write_bytes(b""),
    "older copy": lambda path, lines, older: path.write_bytes(older),
    "older copy that goes on": go_on_from_an_older_copy,
    "another ledger": begin_another,
    "link to an older copy": become_a_link,
    "folder of this name": become_a_folder,
    "pipe of this name": become_a_pipe,
    "last fit cut": rewrite(lambda lines: lines[:-1]),
    "a fit left out": rewrite(lambda lines: [*lines[:2], *lines[3:]]),
    "a fit twice": rewrite(lambda lines: [*lines, lines[-1]]),
    "a fit twice in the place of another": rewrite(lambda lines: [*lines[:-1], lines[1]]),
    "another order": rewrite(lambda lines: [lines[0], *lines[:0:-1]]),
    "first line left out": rewrite(lambda lines: lines[1:]),
    "first line twice": rewrite(lambda lines: [lines[0], *lines]),
    "all twice": rewrite(lambda lines: lines * 2),
    "blank line": rewrite(lambda lines: [*lines[:2], b"\n", *lines[2:]]),
    "line ends of Windows": rewrite(lambda lines: [one.replace(b"\n", b"\r\n") for one in lines]),
    "byte order mark": rewrite(lambda lines: [b"\xef\xbb\xbf", *lines]),
    "UTF-16": rewrite(lambda lines: [b"".join(lines).decode().encode("utf-16")]),
    "zeros after a power cut": rewrite(lambda lines: [*lines[:-1], b"\0" * len(lines[-1])]),
    "fewer steps": replace_text(b'"n_steps": 16', b'"n_steps": 10'),
    "negative steps": replace_text(b'"n_steps": 16', b'"n_steps": -100'),
    "half a step": replace_text(b'"n_steps": 16', b'"n_steps": 0.5'),
    "not a number": replace_text(b'"noise_multiplier": 2.0', b'"noise_multiplier": NaN'),
    "infinite noise": replace_text(b'"noise_multiplier": 2.0', b'"noise_multiplier": Infinity'),
    "text": replace_text(b'"noise_multiplier": 2.0', b'"noise_multiplier": "2.0"'),
    "rate 2": replace_text(b'"sample_rate": 1.0', b'"sample_rate": 2'),
    "rate 0": replace_text(b'"sample_rate": 1.0', b'"sample_rate": 0'),
    "truth value": replace_text(b'"n_steps": 16', b'"n_steps": true'),
    "a name twice": replace_text(b'"n_steps": 16', b'"n_steps": 16, "n_steps": 1'),
    "a name twice before": replace_text(b'"n_steps": 16', b'"n_steps": 1, "n_steps": 16'),
    "a number of many digits": replace_text(b'"n_steps": 16', b'"n_steps": ' + b"9" * 5000),
    "brackets": replace_text(b'"n_steps": 16', b'"n_steps": ' + b"[" * 20000),
    "a number less in the first line": replace_text(b'{"fits": 3, ', b'{"fits": 2, '),
}


@posix
@pytest.mark.parametrize("name", ACCIDENTS)
def test_accidents(tmp_path, name):
    folder = tmp_path / "ledgers"
    folder.mkdir()
    ledger = write(PrivacyLedger(folder / "fits.jsonl"), LINES[:2])
    older = ledger.path.read_bytes()
    spent = write(ledger, LINES[2:]).epsilon(DELTA)
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    ACCIDENTS[name](ledger.path, lines, older)
    with pytest.raises(WARNINGS) as caught:
        ledger.epsilon(DELTA)
    assert "ledger" in str(caught.value) and "Errno" not in str(caught.value)
    with pytest.raises(WARNINGS):
        ledger.record(**LINES[0])
    with pytest.raises(WARNINGS):  # also by an object that has not written
        PrivacyLedger(ledger.path).epsilon(DELTA)
    never_less(ledger, spent)


def test_the_file_is_cut_at_any_byte(tmp_path):
    ledger = write(PrivacyLedger(tmp_path / "fits.jsonl"), LINES[:2])
    spent, content = ledger.epsilon(DELTA), ledger.path.read_bytes()
    for n in range(len(content)):
        ledger.path.write_bytes(content[:n])
        with pytest.raises(ValueError, match="ledger"):
            PrivacyLedger(ledger.path).epsilon(DELTA)
    ledger.path.write_bytes(content)
    assert ledger.epsilon(DELTA) == spent


def test_any_byte_is_changed(tmp_path):
    ledger = write(PrivacyLedger(tmp_path / "fits.jsonl"), LINES[:2])
    spent, content = ledger.epsilon(DELTA), ledger.path.read_bytes()
    taken = []
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        ledger.path.write_bytes(changed)
        with suppress(ValueError):
            assert PrivacyLedger(ledger.path).epsilon(DELTA) == spent
            taken.append(place)
    # As after a process that ended while it wrote the number of the last fit, which is there.
    assert len(taken) == taken[-1] + 1 - taken[0] == 128


def test_accidents_one_after_the_other(tmp_path):
    rng = np.random.default_rng(0)
    for turn in range(20):
        ledger = PrivacyLedger(tmp_path / f"{turn}.jsonl")
        write(ledger, LINES[:2])
        older = ledger.path.read_bytes()
        spent = write(ledger, LINES[2:]).epsilon(DELTA)
        for name in rng.choice([name for name in ACCIDENTS if "folder" not in name], size=2):
            # The second may find no file, or another text.
            with suppress(OSError, AssertionError, LookupError):
                lines = ledger.path.read_bytes().splitlines(keepends=True)
                if name != "pipe of this name" or os.name == "posix":
                    ACCIDENTS[name](ledger.path, lines, older)
            never_less(ledger, spent)
            if not ledger.path.is_file():
                break


@pytest.mark.parametrize(
    "value",
    [
        {"n_steps": -100},
        {"n_steps": 0},
        {"n_steps": 2.0},
        {"n_steps": True},
        {"n_steps": 10**400},
        {"n_rows": -1},
        {"n_rows": 0},
        {"n_rows": None},
        {"sample_rate": 2},
        {"sample_rate": 0.0},
        {"sample_rate": np.nan},
        {"noise_multiplier": np.nan},
        {"noise_multiplier": np.inf},
        {"noise_multiplier": -1.0},
        {"noise_multiplier": "1"},
        {"kind": "release"},
    ],
)
def test_values_are_checked_before_they_are_written(ledger, value):
    content = ledger.path.read_bytes()
    (name,) = value
    with pytest.raises(ValueError, match=f"^{name} must be "):
        ledger.record(**{**LINES[0], **value})
    assert ledger.path.read_bytes() == content


def test_a_forged_line_with_a_right_digest_is_checked_too(ledger):
    book = _ledger._parse_ledger(ledger.path.read_bytes(), ledger.path)
    line, digest = _ledger._write_ledger_line(
        5, {**book.fits[0], "n_steps": -100}, book.digests[-1]
    )
    count, after = _ledger._write_count(5, digest), book.content[book.older + 128 :]
    ledger.path.write_bytes(book.content[: book.older] + count + after + line)
    with pytest.raises(ValueError, match="Fit 5 of the ledger .*n_steps must be an integer"):
        ledger.epsilon(DELTA)


def test_numbers_of_numpy_are_written_as_what_they_are(tmp_path):
    ledger = PrivacyLedger(tmp_path / "fits.jsonl")
    ledger.record(
        noise_multiplier=np.float32(2),
        sample_rate=np.float64(1),
        n_steps=np.int64(3),
        n_rows=np.int32(50),
    )
    assert ledger.read().iloc[0].to_dict() == {"kind": "fit", **LINES[0]}


# Places


def test_a_relative_path_stays_where_it_was(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = write(PrivacyLedger("fits.jsonl"), LINES[:1])
    monkeypatch.chdir(tmp_path / "a")
    write(ledger, LINES[1:])
    assert len(ledger.read()) == 4 and not os.listdir(tmp_path / "a")
    assert PrivacyLedger("../fits.jsonl") == ledger


class PathOfBytes:
    def __fspath__(self):
        return b"fits"


@pytest.mark.parametrize("path", ["", "a\0b", b"fits", 3, None, PathOfBytes()])
def test_what_names_no_file(path):
    with pytest.raises(ValueError, match="path must name a file; got"):
        PrivacyLedger(path)


def test_a_ledger_in_a_folder_that_is_not_there(tmp_path):
    ledger = PrivacyLedger(tmp_path / "typo" / "fits.jsonl")
    for ask in (lambda: ledger.epsilon(DELTA), lambda: write(ledger)):
        with pytest.raises(FileNotFoundError, match="The ledger '.*' cannot be .*No such file"):
            ask()


@posix
def test_links_lead_to_the_same_ledger(ledger, tmp_path):
    (tmp_path / "link").symlink_to(ledger.path)
    os.link(ledger.path, tmp_path / "name")
    write(PrivacyLedger(tmp_path / "link"), LINES[:1])
    write(PrivacyLedger(tmp_path / "name"), LINES[:1])
    assert len(ledger.read()) == 6
    ledger.path.unlink()
    with pytest.raises(FileNotFoundError):
        PrivacyLedger(tmp_path / "link").epsilon(DELTA)


@posix
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs devices of Linux")
def test_devices_are_refused(tmp_path):
    (tmp_path / "link").symlink_to("/dev/full")
    for path in ("/dev/full", "/dev/null", tmp_path / "link"):
        with pytest.raises(OSError, match="is not a file"):
            write(PrivacyLedger(path))


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_what_may_not_be_written_is_no_fit(ledger, what):
    content, place = ledger.path.read_bytes(), ledger.path if what == "file" else ledger.path.parent
    place.chmod(0o500 if what == "folder" else 0o400)
    try:
        with pytest.raises(OSError, match="cannot be written, so that no step was made"):
            write(ledger, LINES[:1])
        assert ledger.path.read_bytes() == content and len(ledger.read()) == 4
    finally:
        place.chmod(0o700)


def test_what_the_number_of_fits_is_kept_in(ledger):
    beside = ledger.path.with_name("fits.jsonl.count")
    beside.write_text("{}")
    with pytest.raises(ValueError, match="'.*fits.jsonl.count' is damaged"):
        ledger.epsilon(DELTA)
    mark = {"identity": "0", "began": "\x1b[2J now", "n_fits": 1, "digest": "0"}
    beside.write_text(json.dumps(mark | {"n_fits": -1}))
    with pytest.raises(ValueError, match="'.*fits.jsonl.count' is damaged"):
        ledger.epsilon(DELTA)
    beside.write_text(json.dumps(mark))
    with pytest.raises(ValueError, match="was replaced with another one") as caught:
        ledger.epsilon(DELTA)
    assert "\x1b" not in str(caught.value)
    beside.unlink()  # as when a ledger was moved to another folder
    assert len(write(ledger, LINES[:1]).read()) == 5 and beside.exists()


def test_a_ledger_may_move_under_another_path(ledger, tmp_path):
    spent = ledger.epsilon(DELTA)
    moved = PrivacyLedger(tmp_path / "moved.jsonl")
    os.replace(ledger.path, moved.path)
    assert moved.epsilon(DELTA) == spent
    with pytest.raises(FileNotFoundError, match="had 4 fits, is not there any more"):
        ledger.epsilon(DELTA)


def test_earlier_ledgers_are_refused_with_the_cure(tmp_path):
    path = tmp_path / "fits.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES[:2]))
    ledger = PrivacyLedger(path)
    for ask in (lambda: ledger.epsilon(DELTA), lambda: write(ledger)):
        with pytest.raises(ValueError, match="is a ledger of an earlier version.*new path"):
            ask()
    new = PrivacyLedger(tmp_path / "new.jsonl")
    write(new, map(json.loads, path.read_text().splitlines()))
    assert len(new.read()) == 2


# Disks and processes


@pytest.mark.parametrize("n_bytes", [1, 50])
@pytest.mark.parametrize("place", range(3))  # the line, the first line, the file beside
def test_a_full_disk_is_noticed_before_the_first_step(ledger, monkeypatch, n_bytes, place):
    spent, content = ledger.epsilon(DELTA), ledger.path.read_bytes()
    beside = ledger.path.with_name("fits.jsonl.count").read_bytes()
    turns, real = [], os.write

    def short(handle, data):
        turns.append(handle)
        if len(turns) == place + 1:
            return real(handle, data[:n_bytes])
        if len(turns) == place + 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data)

    if place == 2:

        def fail(path, content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

        monkeypatch.setattr(_ledger, "write_bytes", fail)
    else:
        monkeypatch.setattr(os, "write", short)
    with pytest.raises(OSError, match=r"cannot be written, so that no step was made: No space"):
        write(ledger, LINES[:1])
    monkeypatch.undo()
    assert ledger.path.read_bytes() == content and ledger.epsilon(DELTA) == spent
    assert ledger.path.with_name("fits.jsonl.count").read_bytes() == beside
    assert len(write(ledger, LINES[:1]).read()) == 5


@pytest.mark.parametrize("n_writes", range(3))
@pytest.mark.parametrize("n_bytes", [0, 1, 100])
def test_a_disk_that_stays_full(ledger, monkeypatch, n_writes, n_bytes):
    # What was written cannot be taken back either.
    spent, left, real = ledger.epsilon(DELTA), [n_writes], os.write

    def write_no_more(handle, data):
        left[0] -= 1
        if left[0] == -1 and n_bytes:
            return real(handle, data[:n_bytes])
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data)

    monkeypatch.setattr(os, "write", write_no_more)
    if n_writes < 2:
        with pytest.raises(OSError, match="so that no step was made: No space"):
            write(ledger, LINES[:1])
    monkeypatch.undo()
    assert ledger.epsilon(DELTA) >= spent
    assert write(ledger, LINES[:1]).epsilon(DELTA) > spent


def test_a_disk_that_forgets(ledger, monkeypatch):
    monkeypatch.setattr(_ledger, "_write_at", lambda handle, place, content: None)
    with pytest.raises(OSError, match="does not hold what was written into it"):
        write(ledger, LINES[:1])


def in_child(function, *args):
    """Run a function in a forked process; its exit status."""
    process = get_context("fork").Process(target=function, args=args)
    process.start()
    process.join(60)
    assert process.exitcode is not None
    return process.exitcode


@posix
def test_a_file_that_may_not_grow(ledger):
    import resource

    content = ledger.path.read_bytes()

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(content) + 20, resource.RLIM_INFINITY))
        with pytest.raises(OSError, match="cannot be written, so that no step was made"):
            write(ledger, LINES[:1])

    assert in_child(fill) == 0
    assert ledger.path.read_bytes() == content and len(write(ledger).read()) == 8


CALLS = ("open", "write", "fsync", "ftruncate", "replace", "link", "close", "stat")


def end_at(call, ledger, lines, acknowledged):
    """Write lines, and end at a call of the operating system, in the middle of it if it writes."""
    left = [call]

    def counted(real):
        def end(*args, **settings):
            left[0] -= 1
            if left[0] < 0:
                if real.__name__ == "write":
                    real(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **settings)

        return end

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    for line in lines:
        ledger.record(**line)
        acknowledged.value += 1


@posix
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("starts_empty", [True, False])
def test_a_process_ends_at_any_call(tmp_path, starts_empty, step):
    context = get_context("fork")
    for call in range(0, 200, step):
        ledger = PrivacyLedger(tmp_path / f"{call}.jsonl")
        if not starts_empty:
            write(ledger)
        before, acknowledged = len(ledger.read()), context.Value("i", 0)
        ended = in_child(end_at, call, ledger, LINES[:1], acknowledged)
        fits = ledger.read()
        assert before + acknowledged.value <= len(fits) <= before + 1
        assert len(write(ledger, LINES[:1]).read()) == len(fits) + 1
        if ended == 0:  # it made fewer calls
            break
    assert ended == 0 and call > 10


def write_many(ledger, n):
    for k in range(n):
        PrivacyLedger(ledger.path).record(**{**LINES[0], "n_steps": k + 1})


@posix
def test_many_processes_write_at_once(tmp_path):
    ledger = PrivacyLedger(tmp_path / "fits.jsonl")
    processes = [get_context("fork").Process(target=write_many, args=(ledger, 8)) for _ in range(4)]
    for process in processes:
        process.start()
    n_fits = [len(ledger.read()) for _ in range(50)]  # while they write
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * 4
    assert n_fits == sorted(n_fits) and len(ledger.read()) == 32
    assert sorted(ledger.read()["n_steps"]) == sorted([*range(1, 9)] * 4)


def test_many_threads_write_at_once(tmp_path):
    ledger = PrivacyLedger(tmp_path / "fits.jsonl")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: write(ledger, LINES[:1]), range(40)))
    assert len(ledger.read()) == 40


def test_a_file_that_another_thread_begins_meanwhile_is_not_a_lost_one(tmp_path, monkeypatch):
    ledger = PrivacyLedger(tmp_path / "fits.jsonl")
    waiting = threading.Event()
    done = threading.Event()

    def exists(path, *, answer=Path.exists):
        was_there = answer(path)
        if path == ledger.path and not waiting.is_set():
            waiting.set()
            assert done.wait(60)
        return was_there

    monkeypatch.setattr(Path, "exists", exists)
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(write, ledger, LINES[:1])
        assert waiting.wait(60)
        write(ledger, LINES[:2])
        done.set()
        late.result()
    assert len(ledger.read()) == 3


@posix
def test_a_process_that_stands_still_makes_nobody_wait_for_ever(ledger, monkeypatch):
    monkeypatch.setattr(files, "_PATIENCE", 0.05)
    with open(ledger.path, "rb+") as file, files.locked(file.fileno(), alone=True):
        for ask in (lambda: ledger.epsilon(DELTA), lambda: write(ledger)):
            with pytest.raises(OSError, match="another process has kept it locked"):
                ask()
    assert len(ledger.read()) == 4


def test_copies_know_what_the_object_knows(ledger, tmp_path):
    assert copy.deepcopy(ledger) is ledger and copy.copy(ledger) is ledger
    carried = pickle.loads(pickle.dumps(ledger))
    assert carried == ledger and hash(carried) == hash(ledger)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    for made in (ledger, carried):
        with pytest.raises(FileNotFoundError, match="had 4 fits, is not there any more"):
            made.epsilon(DELTA)


def test_what_it_remembers_does_not_make_it_another_ledger(tmp_path):
    # Or a checkpoint of models that are trained with it could not go on.
    def digest(path):
        ledger = PrivacyLedger(path)
        yield DigestWalker().digest(ledger)
        yield DigestWalker().digest(write(ledger))

    first, second = digest(tmp_path / "fits.jsonl")
    assert first == second
    assert first not in digest(tmp_path / "others.jsonl")


def test_the_clock_goes_back(ledger, monkeypatch):
    class Earlier(datetime):
        @classmethod
        def now(cls, zone=None):
            return datetime(1970, 1, 1, tzinfo=UTC)

    monkeypatch.setattr(_ledger, "datetime", Earlier)
    spent = ledger.epsilon(DELTA)
    assert write(ledger, LINES[:1]).epsilon(DELTA) > spent
    assert "1970" not in ledger.path.read_text()


def test_the_first_three_lines_say_when_it_began_and_how_many_fits_it_has(ledger):
    first, *counts = map(json.loads, ledger.path.read_text().splitlines()[:3])
    assert [count["fits"] for count in counts] == [4, 3]
    assert abs((datetime.now(UTC) - datetime.fromisoformat(first["began"])).days) <= 1


def test_only_the_user_can_read_it(ledger):
    if sys.platform != "win32":
        assert ledger.path.stat().st_mode & 0o077 == 0
