"""Published files: downloaded once, verified at every use, read without being unpacked."""

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

from sklearn.datasets import get_data_home

from .._core.escaping import visible

_TIMEOUT = 60  # seconds without a byte, not seconds in all
_FIRST_BYTES = {".zip": b"PK\x03\x04", ".gz": b"\x1f\x8b", ".tgz": b"\x1f\x8b"}
_UNREADABLE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    ValueError,
)


@dataclass(frozen=True)
class RemoteFile:
    """Published file and its checksums."""

    name: str
    url: str
    sha256: str | None = None
    members: Mapping[str, str] = field(default_factory=dict)


def read_remote(remote, parsers, data_home=None, download_if_missing=True):
    """Parse members of a publisher's file, which is downloaded if it is not in the cache.

    The members are read in one pass and none of them is written to disk. The cache is the folder
    ``skmia`` in scikit-learn's: ``data_home``, else ``SCIKIT_LEARN_DATA`` of the environment, else
    ``~/scikit_learn_data``.
    """
    folder = Path(get_data_home(data_home)) / "skmia"
    folder.mkdir(exist_ok=True)
    path = folder / remote.name
    if path.exists():
        _verify(remote, path, "delete it to download it again")
    elif download_if_missing:
        _download(remote, path)
    else:
        raise OSError(
            f"{remote.name} is not in {folder} and download_if_missing=False; it is available from "
            f"{remote.url}."
        )
    parsed = _read_members(remote, path, parsers)
    # Only what could be read is trusted: a file broken by hand can still be replaced.
    if not (remote.sha256 or remote.members or _record_of(path).exists()):
        _record(path)
    return parsed


def _record_of(path):
    return path.with_name(path.name + ".sha256")


def _part_of(path):
    # A name of its own for each process, so that two downloads at once do not write into one file.
    return path.with_name(f"{path.name}.{uuid4().hex}.part")


def _sha256(path):
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _record(path):
    part = _part_of(path)
    # A read-only cache is not an error: it cannot be changed by accident.
    with suppress(OSError):
        try:
            part.write_text(f"{_sha256(path)}  {path.name}\n", encoding="utf-8")
            os.replace(part, _record_of(path))
        finally:
            part.unlink(missing_ok=True)


def _verify(remote, path, remedy, candidate=None):
    """Hold the file, or the candidate that is to become it, to the checksum known for it."""
    expected, source = remote.sha256, "known for it"
    record = _record_of(path)
    if not (remote.sha256 or remote.members) and record.exists():
        content = record.read_text(encoding="utf-8", errors="replace")
        expected = visible(content.partition(" ")[0]) or "nothing"  # of a damaged record
        source = f"recorded at its first use ({record.name}; delete that if the new file is right)"
    if expected:
        _compare_digest(path, _sha256(candidate or path), expected, source, remedy)


def _compare_digest(what, actual, expected, source, remedy):
    if actual != expected:
        raise OSError(
            f"{what} is corrupted or was changed: its sha256 is {actual}, the one {source} "
            f"is {expected}; {remedy}."
        )


def _download(remote, path):
    part = _part_of(path)
    try:
        _stream(remote, part, path)
        _verify(remote, path, f"{remote.url} answered it and it was not kept", part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def _stream(remote, part, path):
    """Download a file to the path ``part``, and refuse what is cut off or of another type."""
    request = Request(remote.url, headers={"User-Agent": "skmia"})
    try:
        with urlopen(request, timeout=_TIMEOUT) as response, open(part, "xb") as file:
            shutil.copyfileobj(response, file, 1 << 20)
            size, announced = file.tell(), response.headers.get("Content-Length")
    except (OSError, HTTPException) as error:
        if isinstance(error, HTTPError):
            error.close()
        raise OSError(_by_hand(remote, path, error)) from error
    if announced is not None and size != int(announced):
        raise OSError(_by_hand(remote, path, f"only {size} of {announced} bytes arrived"))
    with open(part, "rb") as file:
        # A login page that a network puts before every answer must not become the trusted file.
        if not file.read(4).startswith(_FIRST_BYTES.get(path.suffix, b"")):
            raise OSError(_by_hand(remote, path, f"the response is not a {path.suffix} file"))


def _by_hand(remote, path, reason):
    return (
        f"{remote.url} could not be downloaded ({reason}); obtain it by other means and put it "
        f"into {path.parent} as {path.name}."
    )


def _read_members(remote, path, parsers):
    """Parse the members of an archive by their names; refuse an archive without one of them."""
    parsed, seen = {}, []
    try:
        with _open_archive(path) as members:
            for member, stream in members:
                seen.append(member)
                for name in parsers:
                    if name not in parsed and PurePosixPath(member).match(name):
                        parsed[name] = parsers[name](_checked(remote, path, name, stream))
                if len(parsed) == len(parsers):
                    return parsed
    except _UNREADABLE as error:
        raise OSError(
            f"{path} cannot be read ({error}); delete it to download it again."
        ) from error
    missing = ", ".join(name for name in parsers if name not in parsed)
    raise OSError(
        f"{path} does not contain {missing}; it contains "
        f"{', '.join(map(visible, seen)) or 'nothing'}."
    )


def _checked(remote, path, name, stream):
    expected = remote.members.get(name)
    if expected is None:
        return stream
    content, remedy = stream.read(), f"delete {path.name} to download it again"
    actual = hashlib.sha256(content).hexdigest()
    _compare_digest(f"{name} in {path}", actual, expected, "known for it", remedy)
    return io.BytesIO(content)


@contextmanager
def _open_archive(path):
    """Iterate over (name, stream) of the regular files of an archive."""
    with ExitStack() as stack:
        if path.suffix == ".zip":
            archive = stack.enter_context(zipfile.ZipFile(path))
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
            yield ((name, stack.enter_context(archive.open(name))) for name in names)
        elif path.name.endswith((".tgz", ".tar.gz")):
            archive = stack.enter_context(tarfile.open(path, "r:gz"))
            yield ((info.name, archive.extractfile(info)) for info in archive if info.isreg())
        else:
            opener = gzip.open if path.suffix == ".gz" else open
            yield iter([(path.name.removesuffix(".gz"), stack.enter_context(opener(path, "rb")))])
