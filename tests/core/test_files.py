"""Files that are there as a whole or not at all."""

import os
import re
import subprocess
import sys

import pytest

from skmia._core import files
from skmia._core.files import remove_leftovers, write_atomically, write_bytes


def write(text):
    return lambda file: file.write(text)


def half_written(folder, name, process):
    path = folder / f"{name}.{process}-abc.tmp"
    path.write_bytes(b"half")
    return path


def name_of(path, process):
    """Name of a half-written file that this machine would give."""
    names = []

    def note(file):
        names.extend(one.name for one in path.parent.glob("*.tmp"))

    write_atomically(path, note)
    return names[0].replace(f"-{os.getpid()}-", f"-{process}-")


def test_a_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "a"
    write_atomically(path, write(b"one"))

    def fail(file):
        file.write(b"two")
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_atomically(path, fail)
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["missing/page.html", "folder"])
def test_an_error_names_the_file_of_the_user_and_no_other(tmp_path, name):
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / name)
    with pytest.raises(OSError, match=re.escape(f": {path!r}") + "$"):
        write_bytes(path, b"")


@pytest.mark.parametrize("links", [True, False])
def test_the_first_one_stays(tmp_path, monkeypatch, links):
    if not links:

        def link(*arguments):
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(os, "link", link)
    for text in (b"one", b"two"):
        write_atomically(tmp_path / "a", write(text), once=True)
    assert (tmp_path / "a").read_bytes() == b"one"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("once", [True, False])
def test_a_file_that_was_taken_for_left_over_is_written_again(tmp_path, once):
    tries = []

    def be_swept(file):
        tries.append(1)
        file.write(b"whole")
        if len(tries) == 1:
            for path in tmp_path.glob("*.tmp"):
                path.unlink()

    write_atomically(tmp_path / "a", be_swept, once=once)
    assert (tmp_path / "a").read_bytes() == b"whole"
    assert len(tries) == 2


def test_half_written_files_of_dead_processes_are_removed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True
    )
    dead = int(done.stdout)
    alive = os.getppid()
    own = tmp_path / "own"
    own.mkdir()
    names = {process: name_of(own / "a", process) for process in (dead, alive, os.getpid())}
    for name in names.values():
        (tmp_path / name).write_bytes(b"half")
    elsewhere = half_written(tmp_path, "b", "elsewhere-1")
    obsolete = half_written(tmp_path, "c", "elsewhere-1")
    (tmp_path / "c").write_bytes(b"whole")
    remove_leftovers(tmp_path)
    kept = {path.name for path in tmp_path.glob("*.tmp")}
    expected = {names[os.getpid()], elsewhere.name}
    assert kept == (expected | {names[alive]} if os.name == "posix" else expected)
    assert not obsolete.exists()
    remove_leftovers(tmp_path, all_done=True)
    assert not elsewhere.exists()
    assert (tmp_path / names[os.getpid()]).exists()


def test_a_lock_is_held_alone_or_with_other_readers_and_ends(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.touch()
    monkeypatch.setattr(files, "_PATIENCE", 0)

    def try_lock(alone):
        with open(path, "rb+") as file:
            try:
                with files.locked(file.fileno(), alone=alone):
                    return True
            except TimeoutError as error:
                assert str(error).endswith("another process has kept it locked for 0 seconds")
                return False

    # Another opening of a file is as another process.
    with open(path, "rb+") as file:
        for alone, readers_too in ((True, False), (False, sys.platform != "win32")):
            with files.locked(file.fileno(), alone=alone):
                assert [try_lock(True), try_lock(False)] == [False, readers_too]
            # It ends before the file is closed, which a child process may have inherited.
            assert try_lock(True)
        with pytest.raises(ZeroDivisionError), files.locked(file.fileno(), alone=True):
            raise ZeroDivisionError
        assert try_lock(True)
