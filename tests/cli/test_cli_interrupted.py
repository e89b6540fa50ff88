"""A result that is there is printed, and what was trained is kept, whatever happens then."""

import errno
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from forked import FORKS, fork_command, wait_for_end
from sklearn.ensemble import RandomForestClassifier

from skmia._core import progress, saving
from skmia.attacks import LiRA
from skmia.cli import main

PATIENCE = 120.0  # seconds, after which a test that hangs fails
OPTIONS = ["--target", "income", "--shadows", "4", "--jobs", "1"]


@pytest.fixture
def data(table, tmp_path):
    """Few rows and columns, as models are trained in nearly every test."""
    path = tmp_path / "table.csv"
    table.loc[:159, ["age", "works", "income"]].to_csv(path, index=False)
    return path


@pytest.fixture
def options(data, one_attack):
    one_attack["attacks"] = {"LiRA": LiRA()}
    return ["--data", data, *OPTIONS]


# Programs with processes of their own take several times as long as an audit in this one. Each
# test has one signal in every run of the suite: that of a terminal, and the one that kills.
ONE_OF_TWO = pytest.mark.slow


def interrupt_after(n_models, monkeypatch):
    """Interrupt the fit of the forest that comes after the victim and some shadow models."""
    fit, fitted = RandomForestClassifier.fit, []

    def fit_or_stop(self, *arguments, **settings):
        if len(fitted) == 1 + n_models:
            raise KeyboardInterrupt
        fitted.append(self)
        return fit(self, *arguments, **settings)

    monkeypatch.setattr(RandomForestClassifier, "fit", fit_or_stop)


@pytest.fixture(scope="session")
def printed():
    """What was printed for options, which is the same each time."""
    return {}


@pytest.fixture
def undisturbed(printed, run, options):
    """What the command prints if nothing happens."""
    if not printed:
        printed[0] = run(*options)
    return printed[0]


@pytest.mark.usefixtures("audit_once")
def test_a_full_disk_costs_the_files_and_not_the_audit(
    undisturbed, run, options, tmp_path, monkeypatch
):
    def fill_disk(*arguments, **settings):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    expected = undisturbed[1]
    monkeypatch.setattr(saving, "write_json", fill_disk)
    code, text, err = run(*options, "--out", tmp_path / "out")
    # Without --out, the last line says how a page is written.
    assert code == 2 and expected.startswith(text.rstrip("\n"))
    assert err == f"skmia audit: --out: cannot write into {tmp_path / 'out'}: " + (
        f"{os.strerror(errno.ENOSPC)}\n"
    )


class FullTerminal(io.StringIO):
    """A standard output that takes nothing; the program then sends the rest to nowhere."""

    n_flushed = 0

    def flush(self):
        self.n_flushed += 1
        if self.n_flushed == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.usefixtures("audit_once", "no_drawing")
def test_a_full_terminal_costs_a_line_and_not_the_files(options, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", FullTerminal())
    reason = f"the standard output cannot be written: {os.strerror(errno.ENOSPC)}"
    assert main(["audit", *map(str, options), "--out", str(tmp_path / "out")]) == 0
    assert f"skmia: {reason}\n" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "audit.json").read_text())["verdict"]
    monkeypatch.setattr(sys, "stdout", FullTerminal())
    assert main(["audit", *map(str, options)]) == 2
    assert capsys.readouterr().err == f"skmia audit: {reason}\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_device_that_is_full():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "skmia.cli"]  # which prints its help
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    reason = f"the standard output cannot be written: {os.strerror(errno.ENOSPC)}"
    assert (done.returncode, done.stderr) == (2, f"skmia: {reason}\n")


@pytest.mark.usefixtures("audit_once")
def test_a_note_that_cannot_be_added_is_no_failure(run, options, tmp_path, monkeypatch):
    write, written = saving.write_json, []

    def write_once(document, path):
        if written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written.append(path)
        return write(document, path)

    monkeypatch.setattr(saving, "write_json", write_once)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, text, _ = run(*options, "--out", tmp_path)
    assert code == 0
    assert written == [tmp_path / "audit.json"]
    assert f"written: {tmp_path / 'report.html'}" in text
    assert 'pip install "skmia[plot]"' in text


def test_an_interrupted_audit_says_what_is_kept_and_goes_on(
    undisturbed, run, options, tmp_path, monkeypatch
):
    folder = tmp_path / "kept"
    with monkeypatch.context() as patch:
        interrupt_after(3, patch)
        code, text, err = run(*options, "--checkpoint", folder)
    assert (code, text) == (130, "")
    assert err == (
        f"skmia audit: interrupted; 3 of 4 shadow models are kept in {folder}; running "
        "it again continues from there.\n"
    )
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("shadow-*.npz")}
    assert len(before) == 3
    assert run(*options, "--checkpoint", folder) == undisturbed
    after = {path.name: path.stat().st_mtime_ns for path in folder.glob("shadow-*.npz")}
    assert len(after) == 4
    assert before.items() <= after.items()


def test_without_a_checkpoint_it_says_how_to_keep_something(run, options, monkeypatch):
    interrupt_after(0, monkeypatch)
    message = "interrupted; no shadow model was kept (--checkpoint DIR keeps the finished ones)"
    assert run(*options) == (130, "", f"skmia audit: {message}\n")


def test_a_folder_of_another_audit_is_refused(run, refuse, options, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        interrupt_after(1, patch)
        assert run(*options, "--checkpoint", tmp_path / "kept")[0] == 130
    message = refuse(*options, "--seed", "1", "--checkpoint", tmp_path / "kept")
    assert f"The checkpoint folder {tmp_path / 'kept'}" in message


def test_a_folder_that_cannot_be_made_is_found_first(refuse, options, tmp_path):
    (tmp_path / "file").touch()
    message = refuse(*options, "--checkpoint", tmp_path / "file")
    assert message.startswith(f"--checkpoint: cannot write into {tmp_path / 'file'}: ")


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    "name, expected", [("SIGTERM", 143), pytest.param("SIGHUP", 129, marks=ONE_OF_TWO)]
)
def test_signals_that_end_it_say_what_is_kept(
    run, options, tmp_path, monkeypatch, request, name, expected
):
    fit, fitted, folder = RandomForestClassifier.fit, [], tmp_path / "kept"
    number = getattr(signal, name)
    usual = signal.signal(number, signal.SIG_DFL)  # under nohup the tests ignore one
    request.addfinalizer(lambda: signal.signal(number, usual))

    def fit_or_end(self, *arguments, **settings):
        if len(fitted) == 3:
            signal.raise_signal(number)
        fitted.append(self)
        return fit(self, *arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(RandomForestClassifier, "fit", fit_or_end)
        code, text, err = run(*options, "--checkpoint", folder)
    assert (code, text) == (expected, "")
    assert err == (
        f"skmia audit: interrupted; 2 of 4 shadow models are kept in {folder}; running "
        "it again continues from there.\n"
    )
    assert signal.getsignal(number) is signal.SIG_DFL


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_signal_that_is_ignored_stays_so(run, options, monkeypatch):
    """As by nohup."""

    def hang_up(self, *arguments, **settings):
        signal.raise_signal(signal.SIGHUP)
        raise ValueError("It went on.")

    monkeypatch.setattr(RandomForestClassifier, "fit", hang_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run(*options) == (2, "", "skmia audit: It went on.\n")
    finally:
        signal.signal(signal.SIGHUP, before)


@FORKS
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=ONE_OF_TWO)],
)
def test_a_signal_ends_workers_and_keeps_models(data, tmp_path, number, code):
    folder = tmp_path / "kept"
    given = ["--data", data, "--target", "income", "--shadows", "400", "--jobs", "2"]
    with open(tmp_path / "out", "w") as out, open(tmp_path / "err", "w") as err:
        streams = {1: out.fileno(), 2: err.fileno()}
        given += ["--checkpoint", folder]
        program = fork_command("audit", *given, outputs=streams)
        wait_for_a_model(program, folder)
        if number == signal.SIGINT:  # a terminal sends it to all, and others to the program
            os.killpg(program, number)
        else:
            os.kill(program, number)
        assert wait_for_end(program) == code
    assert (tmp_path / "out").read_text() == ""
    # A worker that is just being started gets the signal as well, and Python says where it was.
    text = (tmp_path / "err").read_text()
    told = re.search(
        r"^skmia audit: interrupted; (\d+) of 400 shadow models are kept .*$", text, re.MULTILINE
    )
    assert told, text
    assert int(told[1]) == len(list(folder.glob("shadow-*.npz"))) > 0


def wait_for_a_model(program, folder):
    """Wait until a shadow model is kept."""
    stop = time.monotonic() + PATIENCE
    while not any(folder.glob("shadow-*.npz")):
        assert read_parent(program) and time.monotonic() < stop
        time.sleep(0.02)


def read_parent(number):
    """Return the process that started another one, or None if it has ended."""
    with suppress(OSError):
        state, parent = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[:2]
        return None if state == "Z" else int(parent)


def list_children(number):
    found = (int(path.name) for path in Path("/proc").glob("[0-9]*"))
    return [one for one in found if read_parent(one) == number]


@FORKS
@pytest.mark.parametrize(
    ("name", "code"), [pytest.param("SIGINT", 130, marks=ONE_OF_TWO), ("SIGKILL", -9)]
)
def test_a_signal_ends_the_process_of_a_model(table, tmp_path, name, code):
    xgboost = pytest.importorskip("xgboost")  # skops imports torch
    numbers = table[["noise", "works", "trained"]].astype(float)
    numbers["rich"] = (table["income"] == ">50K").astype(int)
    path, folder = tmp_path / "table.csv", tmp_path / "kept"
    numbers.to_csv(path, index=False)
    model = xgboost.XGBClassifier(n_estimators=2, n_jobs=1)
    model.fit(numbers[["noise", "works"]], numbers["rich"]).save_model(tmp_path / "model.ubj")
    given = ["--data", path, "--target", "rich", "--members", "trained", "--shadows", "2000"]
    given += ["--model", tmp_path / "model.ubj", "--estimator", "logistic", "--checkpoint", folder]
    with open(tmp_path / "out", "w") as out, open(tmp_path / "err", "w") as err:
        streams = {1: out.fileno(), 2: err.fileno()}
        program = fork_command("audit", *given, outputs=streams)
        wait_for_a_model(program, folder)
        (child,) = list_children(program)
        assert os.getsid(child) == child != program
        os.killpg(program, getattr(signal, name))
        assert wait_for_end(program) == code
        stop = time.monotonic() + PATIENCE
        while read_parent(child):
            assert time.monotonic() < stop
            time.sleep(0.02)
    told = f"skmia audit: interrupted; finished shadow models, if any, are kept in {folder}\n"
    assert (tmp_path / "out").read_text() == ""
    assert (tmp_path / "err").read_text() == (told if code > 0 else "")


def test_the_bar_of_a_command_that_is_interrupted_leaves_a_clean_line(options, monkeypatch, capsys):
    interrupt_after(2, monkeypatch)
    monkeypatch.setattr(progress, "draws_bars", lambda file=None: True)
    with suppress(SystemExit, KeyboardInterrupt):
        main(["audit", *map(str, options)])
    drawn = capsys.readouterr().err
    assert f"\r{'':79s}\r" in drawn and "done   model and answers" in drawn
    assert "done   shadow models" not in drawn
    assert "100%" not in drawn and "in all" not in drawn
