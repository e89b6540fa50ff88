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
from sklearn.ensemble import RandomForestClassifier

from skmia._core import progress, saving
from skmia.cli import main

PATIENCE = 120.0  # seconds, after which a test that hangs fails
OPTIONS = ["--target", "income", "--shadows", "8", "--jobs", "1"]


@pytest.fixture
def options(data):
    return ["--data", data, *OPTIONS]


# Programs with processes of their own take ten times as long as an audit in this one. Each of the
# two tests has one signal in every run of the suite: that of a terminal, and the one that kills.
ONE_OF_TWO = pytest.mark.slow

# Fitted on a half of the members, to see whether model and table agree.
N_CLONES = 1


def interrupt_after(n_models, monkeypatch):
    """Interrupt the fit of the forest that comes after victim, clones and some shadow models."""
    fit, fitted = RandomForestClassifier.fit, []

    def fit_or_stop(self, *arguments, **settings):
        if len(fitted) == 1 + N_CLONES + n_models:
            raise KeyboardInterrupt
        fitted.append(self)
        return fit(self, *arguments, **settings)

    monkeypatch.setattr(RandomForestClassifier, "fit", fit_or_stop)


@pytest.mark.usefixtures("audit_once")
def test_a_full_disk_costs_the_files_and_not_the_audit(run, options, tmp_path, monkeypatch):
    def fill_disk(*arguments, **settings):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    expected = run(*options)[1]
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
def test_a_device_that_is_full(tmp_path):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "skmia.cli", "policy", "show", "cautious"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    reason = f"the standard output cannot be written: {os.strerror(errno.ENOSPC)}"
    assert (done.returncode, done.stderr) == (2, f"skmia policy: {reason}\n")


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


def test_an_interrupted_audit_says_what_is_kept_and_goes_on(run, options, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    expected = run(*options)
    with monkeypatch.context() as patch:
        interrupt_after(3, patch)
        code, text, err = run(*options, "--checkpoint", folder)
    assert (code, text) == (130, "")
    assert err == (
        f"skmia audit: interrupted; 3 of 8 shadow models are kept in {folder}; running "
        "it again continues from there.\n"
    )
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("shadow-*.npz")}
    assert len(before) == 3
    assert run(*options, "--checkpoint", folder) == expected
    after = {path.name: path.stat().st_mtime_ns for path in folder.glob("shadow-*.npz")}
    assert len(after) == 8
    assert before.items() <= after.items()


def test_without_a_checkpoint_it_says_how_to_keep_something(run, options, monkeypatch):
    interrupt_after(0, monkeypatch)
    message = "interrupted; no shadow model was kept (--checkpoint DIR keeps the finished ones)"
    assert run(*options) == (130, "", f"skmia audit: {message}\n")


def test_a_folder_of_another_audit_is_refused(run, refuse, options, tmp_path):
    assert run(*options, "--checkpoint", tmp_path / "kept")[0] == 0
    message = refuse(*options, "--seed", "1", "--checkpoint", tmp_path / "kept")
    assert f"The checkpoint folder {tmp_path / 'kept'}" in message


def test_a_folder_that_cannot_be_made_is_found_first(refuse, options, tmp_path):
    (tmp_path / "file").touch()
    message = refuse(*options, "--checkpoint", tmp_path / "file")
    assert message.startswith(f"--checkpoint: cannot write into {tmp_path / 'file'}: ")


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("name, expected", [("SIGTERM", 143), ("SIGHUP", 129)])
def test_signals_that_end_it_say_what_is_kept(
    run, options, tmp_path, monkeypatch, request, name, expected
):
    fit, fitted, folder = RandomForestClassifier.fit, [], tmp_path / "kept"
    number = getattr(signal, name)
    usual = signal.signal(number, signal.SIG_DFL)  # under nohup the tests ignore one
    request.addfinalizer(lambda: signal.signal(number, usual))

    def fit_or_end(self, *arguments, **settings):
        if len(fitted) == 3 + N_CLONES:
            signal.raise_signal(number)
        fitted.append(self)
        return fit(self, *arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(RandomForestClassifier, "fit", fit_or_end)
        code, text, err = run(*options, "--checkpoint", folder)
    assert (code, text) == (expected, "")
    assert err == (
        f"skmia audit: interrupted; 2 of 8 shadow models are kept in {folder}; running "
        "it again continues from there.\n"
    )
    assert signal.getsignal(number) is signal.SIG_DFL
    assert run(*options, "--checkpoint", folder)[0] != expected


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_a_signal_that_is_ignored_stays_so(run, options, monkeypatch):
    """As by nohup."""
    fit = RandomForestClassifier.fit

    def hang_up(self, *arguments, **settings):
        signal.raise_signal(signal.SIGHUP)
        return fit(self, *arguments, **settings)

    monkeypatch.setattr(RandomForestClassifier, "fit", hang_up)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run(*options)[0] in (0, 4)
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    "number, code", [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=ONE_OF_TWO)]
)
def test_a_signal_ends_workers_and_keeps_models(data, tmp_path, number, code):
    folder, environment = tmp_path / "kept", {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "skmia.cli", "audit", "--data", str(data)]
    command += ["--target", "income", "--shadows", "400", "--jobs", "2"]
    program = subprocess.Popen(
        [*command, "--checkpoint", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,  # a group of processes, as a terminal makes of a command
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        wait_for_a_model(program, folder)
        if number == signal.SIGINT:  # a terminal sends it to all, and others to the program
            os.killpg(program.pid, number)
        else:
            program.send_signal(number)
        out, err = program.communicate(timeout=PATIENCE)
    finally:
        program.kill()
    assert (program.returncode, out) == (code, "")
    # A worker that is just being started gets the signal as well, and Python says where it was.
    line = r"^skmia audit: interrupted; (\d+) of 400 shadow models are kept .*$"
    told = re.search(line, err, re.MULTILINE)
    assert told, err
    assert int(told[1]) == len(list(folder.glob("shadow-*.npz"))) > 0


def wait_for_a_model(program, folder):
    """Wait until a shadow model is kept, and return when patience ends."""
    stop = time.monotonic() + PATIENCE
    while not any(folder.glob("shadow-*.npz")):
        assert program.poll() is None and time.monotonic() < stop
        time.sleep(0.05)
    return stop


def list_programs(word):
    """Processes with a word in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if word.encode() in path.read_bytes():
                found.append(int(path.parent.name))
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="processes are listed as on Linux")
@pytest.mark.parametrize(
    "number, code", [pytest.param("SIGINT", 130, marks=ONE_OF_TWO), ("SIGKILL", -9)]
)
def test_a_signal_ends_the_process_of_a_model(table, tmp_path, number, code):
    skops = pytest.importorskip("skops.io")
    numbers = table[["noise", "works", "trained"]].astype(float)
    path, folder = tmp_path / "table.csv", tmp_path / "kept"
    numbers.assign(income=table["income"]).to_csv(path, index=False)
    model = RandomForestClassifier(5, random_state=0).fit(
        numbers[["noise", "works"]], table["income"]
    )
    skops.dump(model, tmp_path / "model.skops")
    command = [sys.executable, "-m", "skmia.cli", "audit", "--data", path, "--target", "income"]
    command += ["--members", "trained", "--model", tmp_path / "model.skops", "--shadows", "2000"]
    program = subprocess.Popen(
        [*map(str, command), "--checkpoint", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        stop = wait_for_a_model(program, folder)
        assert len(list_programs(str(folder))) > 1
        os.killpg(program.pid, getattr(signal, number))
        out, err = program.communicate(timeout=PATIENCE)
        while list_programs(str(folder)):
            assert time.monotonic() < stop
            time.sleep(0.05)
    finally:
        program.kill()
    told = f"skmia audit: interrupted; finished shadow models, if any, are kept in {folder}\n"
    assert (program.returncode, out) == (code, "") and err.endswith(told if code > 0 else "")


def test_the_bar_of_a_command_that_is_interrupted_leaves_a_clean_line(options, monkeypatch, capsys):
    interrupt_after(2, monkeypatch)
    monkeypatch.setattr(progress, "draws_bars", lambda file=None: True)
    with suppress(SystemExit, KeyboardInterrupt):
        main(["audit", *map(str, options)])
    drawn = capsys.readouterr().err
    assert f"\r{'':79s}\r" in drawn and "done   model and answers" in drawn
    assert "done   shadow models" not in drawn
    assert "100%" not in drawn and "in all" not in drawn
