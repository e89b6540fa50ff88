"""Pages that commands write, apart from what makes them."""

from contextlib import suppress

from .._core.files import write_bytes
from ._options import CommandError


def write_page(out, page):
    try:
        write_bytes(out, page.encode())
    except OSError as error:
        raise CommandError(f"--out: cannot write {out}: {error.strerror or error}") from error


def check_is_no_source(out, sources):
    if any(_is_same(out, source) for source in sources):
        raise CommandError(f"--out: the page would be written over its source {out}")


def _is_same(first, other):
    """Whether two names are of one file, through links or in another spelling."""
    with suppress(OSError):  # of one that is not there
        return first.samefile(other)
    return first.resolve() == other.resolve()
