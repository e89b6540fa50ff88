"""Writing of the page of a command, but not over its sources."""

from contextlib import suppress

from .._core.escaping import visible
from .._core.files import write_bytes
from ._options import CommandError


def write_page(out, page):
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(out, page.encode())
    except OSError as error:
        raise CommandError(f"--out: cannot write {out}: {error.strerror or error}") from error


def describe_page(out):
    """Return the last line of a command that writes a page only if it is asked to."""
    return "A page of this: --out FILE.html" if out is None else f"written: {visible(out)}"


def check_is_no_source(out, sources):
    if any(is_same_file(out, source) for source in sources):
        raise CommandError(f"--out: the page would be written over its source {out}")


def is_same_file(first, other):
    """Return whether two names are of one file, through links or in another spelling."""
    with suppress(OSError):  # of one that is not there
        return first.samefile(other)
    return first.resolve() == other.resolve()
