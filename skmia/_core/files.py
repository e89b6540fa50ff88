"""Files that are written atomically and that no other user can read."""

import errno
import hashlib
import os
import socket
import sys
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
_SUFFIX = ".tmp"

# How long a lock of another process is waited for, in seconds, and where it is on Windows.
_PATIENCE, _LOCKED_BYTE = 60, 1 << 40


def make_private_folder(folder):
    """Make a folder that only the user can read; an existing folder is not changed."""
    Path(folder).mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)


def write_atomically(path, write, once=False):
    """Write beside the path and rename, so that a half-written file never has its name."""
    for last in (False, True):
        temporary = path.with_name(f"{path.name}.{_host()}-{os.getpid()}-{uuid.uuid4().hex}.tmp")
        try:
            _create(temporary, write)
            if once:
                _link(temporary, path)
            else:
                os.replace(temporary, path)
            return
        except FileNotFoundError:
            # Another process took this one for dead, and its work for done.
            if path.exists():
                return
            if last:
                raise
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_bytes(path, content):
    """Write bytes so that a reader finds the old file or the whole new one, never a part.

    Only the user can read the file.
    """
    path = Path(path)
    try:
        write_atomically(path, lambda file: file.write(content))
    except OSError as error:
        if error.filename is None:  # such as a full disk
            raise
        # Without the name of the half-written file.
        raise OSError(error.errno, error.strerror, str(path)) from error
    return path


def _create(path, write):
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, PRIVATE_FILE), "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())


def _link(temporary, path):
    """Give a file a name that it gets only if nothing has it yet."""
    try:
        os.link(temporary, path)
    except (FileExistsError, FileNotFoundError):
        if not path.exists():
            raise
    except OSError:
        # Some file systems have no links. A reader may find the file half-written for a moment.
        content = temporary.read_bytes()
        with suppress(FileExistsError):
            _create(path, lambda file: file.write(content))


def _host():
    return "".join(letter if letter.isalnum() else "_" for letter in socket.gethostname())


def remove_leftovers(folder, all_done=False):
    """Remove half-written files of processes that have ended.

    Times of files are not used, because the clocks of machines differ. A file that is there under
    its final name shows that a half-written one is not needed. A process that is taken for dead by
    mistake writes its file again.
    """
    for path in folder.glob(f"*{_SUFFIX}"):
        final, _, process = path.name.removesuffix(_SUFFIX).rpartition(".")
        host, _, rest = process.partition("-")
        number = rest.partition("-")[0]
        if not final or not number.isdigit():
            continue  # a file of another user
        mine = host == _host()
        at_work = mine and _is_running(int(number))
        if not at_work and (mine or all_done or (folder / final).exists()):
            with suppress(OSError):
                path.unlink()


def _is_running(number):
    if number == os.getpid():
        return True
    if os.name != "posix":
        return False  # a file that is open cannot be removed there
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def digest_file(file):
    """Return SHA-256 of an open binary file, which is read to its end, in hexadecimal digits."""
    return hashlib.file_digest(file, "sha256").hexdigest()


def set_aside(path):
    """Rename a damaged file, so that it is neither read again nor lost."""
    aside = path.with_name(f"{path.name}.damaged")
    os.replace(path, aside)
    return aside.name


@contextmanager
def locked(handle, *, alone):
    """Hold a lock on an open file, alone or with other readers; it ends with the process."""
    end = time.monotonic() + _PATIENCE
    while not _try_lock(handle, alone):
        if time.monotonic() > end:
            reason = f"another process has kept it locked for {_PATIENCE} seconds"
            raise TimeoutError(errno.ETIMEDOUT, reason)
        time.sleep(0.005)
    try:
        yield
    finally:
        _unlock(handle)  # closing is not enough where a child process has inherited the file


def _try_lock(handle, alone):
    try:
        if sys.platform == "win32":
            os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _unlock(handle):
    if sys.platform == "win32":
        os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(handle, fcntl.LOCK_UN)


PAGE, SHEET = "report.html", "decision.html"
DOCUMENTS = "audit.json", "table.json"  # with the numbers of an audit of a model, and of a table


def split_place(path):
    """Return the folder of the files of a report, and the name of its page, which may be given."""
    path = Path(path)
    is_page = path.suffix.lower() in (".html", ".htm") and not path.is_dir()
    return (path.parent, path.name) if is_page else (path, PAGE)


def name_beside(page, name):
    """Return the name of a file beside a page.

    A page of another name shares it with all but the sheet.
    """
    if PAGE == page or name == SHEET:
        return name
    return page if name == PAGE else f"{Path(page).stem}{Path(name).suffix}"
