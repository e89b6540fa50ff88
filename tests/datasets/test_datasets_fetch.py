"""The download, the cache and what is refused."""

import gzip
import hashlib
import io
import shutil
import socket
import tarfile
import zipfile

import pytest

from skmia.datasets import _fetch
from skmia.datasets._fetch import RemoteFile, read_remote

CONTENT = b"1,0,1\n2,1,1\n" * 1000


def read(remote, home, name="*", **options):
    parsers = {name: lambda stream: stream.read()}
    return read_remote(remote, parsers, data_home=home, **options)[name]


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def remote(publisher):
    publisher.files["/table.csv"] = CONTENT
    return RemoteFile("table.csv", publisher.base + "/table.csv")


def test_a_file_is_downloaded_once(remote, publisher, tmp_path):
    assert read(remote, tmp_path) == CONTENT
    assert read(remote, tmp_path) == CONTENT
    assert publisher.requests == ["/table.csv"]


def test_a_file_put_there_by_hand_is_used(remote, publisher, tmp_path, cache):
    (cache / "table.csv").write_bytes(b"by hand")
    assert read(remote, tmp_path) == b"by hand"
    assert publisher.requests == []


def test_without_download_a_missing_file_is_named(remote, publisher, tmp_path, cache):
    with pytest.raises(OSError, match="download_if_missing=False") as raised:
        read(remote, tmp_path, download_if_missing=False)
    assert str(cache) in str(raised.value) and remote.url in str(raised.value)
    assert publisher.requests == []


def test_the_first_download_is_recorded_and_held_to(remote, tmp_path, cache):
    read(remote, tmp_path)
    assert (cache / "table.csv.sha256").read_text() == f"{sha256(CONTENT)}  table.csv\n"
    (cache / "table.csv").write_bytes(CONTENT[:-1])
    with pytest.raises(OSError, match=r"table\.csv is corrupted .* recorded at its first use"):
        read(remote, tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xff\n"], ids=["empty", "no text"])
def test_a_damaged_record_does_not_let_a_changed_file_pass(remote, tmp_path, cache, content):
    read(remote, tmp_path)
    (cache / "table.csv.sha256").write_bytes(content)
    (cache / "table.csv").write_bytes(b"something else")
    with pytest.raises(OSError, match=r"table\.csv\.sha256; delete that if the new file is right"):
        read(remote, tmp_path)


def test_a_second_download_is_held_to_the_record_of_the_first(remote, publisher, tmp_path, cache):
    read(remote, tmp_path)
    (cache / "table.csv").unlink()
    publisher.files["/table.csv"] = b"something else"
    with pytest.raises(OSError, match=r"it was not kept"):
        read(remote, tmp_path)
    assert names_in(cache) == ["table.csv.sha256"]
    (cache / "table.csv.sha256").unlink()
    assert read(remote, tmp_path) == b"something else"


def test_a_file_that_cannot_be_read_is_not_recorded(publisher, tmp_path, cache):
    publisher.files["/t.gz"] = gzip.compress(CONTENT)
    remote = RemoteFile("t.gz", publisher.base + "/t.gz")
    (cache / "t.gz").write_bytes(gzip.compress(CONTENT)[:-20])
    with pytest.raises(OSError, match="cannot be read"):
        read(remote, tmp_path)
    assert names_in(cache) == ["t.gz"]
    (cache / "t.gz").unlink()
    assert read(remote, tmp_path) == CONTENT


def test_a_known_checksum_is_verified_and_nothing_is_recorded(remote, publisher, tmp_path, cache):
    pinned = RemoteFile(remote.name, remote.url, sha256=sha256(CONTENT))
    assert read(pinned, tmp_path) == CONTENT
    assert names_in(cache) == ["table.csv"]
    (cache / "table.csv").write_bytes(CONTENT + b"3,0,0\n")
    with pytest.raises(OSError, match="delete it to download it again"):
        read(pinned, tmp_path)


def test_a_download_with_another_checksum_is_not_kept(remote, tmp_path, cache):
    pinned = RemoteFile(remote.name, remote.url, sha256="0" * 64)
    with pytest.raises(OSError, match="the one known for it is 0000") as raised:
        read(pinned, tmp_path)
    assert sha256(CONTENT) in str(raised.value)
    assert names_in(cache) == []


def test_a_truncated_download_is_not_kept(remote, publisher, tmp_path, cache):
    publisher.withheld = 10
    with pytest.raises(OSError, match="could not be downloaded"):
        read(remote, tmp_path)
    assert names_in(cache) == []


def test_an_interrupted_download_leaves_nothing(remote, tmp_path, cache, monkeypatch):
    def copy_a_bit(source, target, length):
        target.write(source.read(10))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_fetch.shutil, "copyfileobj", copy_a_bit)
        with pytest.raises(KeyboardInterrupt):
            read(remote, tmp_path)
    assert names_in(cache) == []
    assert read(remote, tmp_path) == CONTENT


def test_a_cache_that_cannot_be_written_can_be_read(remote, tmp_path, cache, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError

    (cache / "table.csv").write_bytes(CONTENT)
    monkeypatch.setattr(_fetch.Path, "write_text", refuse)
    assert read(remote, tmp_path) == CONTENT
    assert names_in(cache) == ["table.csv"]


def by_hand(remote, cache):
    return f"obtain it by other means and put it into {cache} as {remote.name}."


def test_a_missing_page_says_what_to_do(publisher, tmp_path, cache):
    remote = RemoteFile("gone.csv", publisher.base + "/gone.csv")
    with pytest.raises(OSError, match="404") as raised:
        read(remote, tmp_path)
    assert str(raised.value).startswith(remote.url)
    assert str(raised.value).endswith(by_hand(remote, cache))
    assert names_in(cache) == []


def test_without_a_network_the_message_says_what_to_do(tmp_path, cache, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    remote = RemoteFile("table.csv", f"http://127.0.0.1:{port}/table.csv")
    with pytest.raises(OSError, match="could not be downloaded") as raised:
        read(remote, tmp_path)
    assert str(raised.value).startswith(remote.url)
    assert str(raised.value).endswith(by_hand(remote, cache))
    assert "\n" not in str(raised.value)


def test_a_login_page_is_not_taken_for_the_file(publisher, tmp_path, cache):
    publisher.files["/a.tgz"] = b"<html>Please log in</html>"
    with pytest.raises(OSError, match=r"the response is not a \.tgz file"):
        read(RemoteFile("a.tgz", publisher.base + "/a.tgz"), tmp_path)
    assert names_in(cache) == []


def as_tgz(members, mode="w:gz"):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return content.getvalue()


def as_zip(members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return content.getvalue()


@pytest.mark.parametrize(
    ("name", "pack"), [("a.tgz", as_tgz), ("a.tar.gz", as_tgz), ("a.zip", as_zip)]
)
def test_a_member_is_found_by_the_end_of_its_path(name, pack, tmp_path, cache):
    members = {
        "top/._feats": b"x",
        "top/50/feats": b"y",
        "top/100/feats": b"z",
        "top/old.feats": b"w",
    }
    (cache / name).write_bytes(pack(members))
    remote = RemoteFile(name, "http://127.0.0.1:9/" + name)
    assert read(remote, tmp_path, "100/feats") == b"z"
    assert read(remote, tmp_path, "old.feats") == b"w"
    with pytest.raises(
        OSError, match=r"does not contain labels; it contains top/\._feats, top/50/feats"
    ):
        read(remote, tmp_path, "labels")


@pytest.mark.parametrize("evil", ["../../evil", "/evil"])
def test_members_are_never_written_to_disk(evil, tmp_path, cache):
    (cache / "a.tgz").write_bytes(as_tgz({evil: b"x"}))
    remote = RemoteFile("a.tgz", "http://127.0.0.1:9/a.tgz")
    before = sorted(tmp_path.rglob("*"))
    assert read(remote, tmp_path, "evil") == b"x"
    assert set(tmp_path.rglob("*")) - set(before) == {cache / "a.tgz.sha256"}


def test_links_in_an_archive_are_not_followed(tmp_path, cache):
    (tmp_path / "secret").write_bytes(b"secret")
    with tarfile.open(cache / "a.tgz", "w:gz") as archive:
        info = tarfile.TarInfo("table")
        info.type, info.linkname = tarfile.SYMTYPE, str(tmp_path / "secret")
        archive.addfile(info)
    with pytest.raises(OSError, match="does not contain table"):
        read(RemoteFile("a.tgz", "http://127.0.0.1:9/a.tgz"), tmp_path, "table")


def test_the_checksum_of_a_member_is_verified_whatever_the_packing(tmp_path, cache):
    members = {"table.csv": sha256(CONTENT)}
    remote = RemoteFile("a.zip", "http://127.0.0.1:9/a.zip", members=members)
    (cache / "a.zip").write_bytes(as_zip({"README": b"", "x/table.csv": CONTENT}))
    assert read(remote, tmp_path, "table.csv") == CONTENT
    assert names_in(cache) == ["a.zip"]
    (cache / "a.zip").write_bytes(as_zip({"table.csv": CONTENT + b" "}))
    with pytest.raises(OSError, match=r"table\.csv in .*a\.zip is corrupted or was changed"):
        read(remote, tmp_path, "table.csv")


@pytest.mark.parametrize("name", ["a.tgz", "a.zip", "a.gz"])
@pytest.mark.parametrize("keep", [3, 60])
def test_a_damaged_archive_is_one_clear_sentence(name, keep, tmp_path, cache):
    whole = {
        "a.tgz": as_tgz({"t": CONTENT}),
        "a.zip": as_zip({"t": CONTENT}),
        "a.gz": gzip.compress(CONTENT),
    }
    (cache / name).write_bytes(whole[name][:keep])
    with pytest.raises(OSError, match=r"cannot be read|does not contain") as raised:
        read(RemoteFile(name, "http://127.0.0.1:9/" + name), tmp_path)
    assert str(cache / name) in str(raised.value)


def test_the_cache_is_in_the_data_home_of_scikit_learn(remote, tmp_path, monkeypatch):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    read(remote, None)
    assert (tmp_path / "home" / "skmia" / "table.csv").read_bytes() == CONTENT
    shutil.rmtree(tmp_path / "home")
