"""Workers of a program that was killed end with it, and do nothing else."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import suppress
from pathlib import Path

import joblib
import pytest

from skmia._core import tasks
from skmia._core.tasks import delayed

PATIENCE = 120.0  # seconds, after which a test that hangs fails

SCRIPT = """
    import os
    import sys
    import threading
    import time
    from pathlib import Path

    import joblib
    import numpy as np
    from sklearn.naive_bayes import GaussianNB

    from skmia import Records, ShadowPool
    from skmia._core import tasks
    from skmia._core.tasks import delayed

    def look_often():
        tasks._SECONDS_BETWEEN_LOOKS = 0.05
        time.sleep(0.05)  # so that each worker has one

    def ask():
        with joblib.parallel_config("loky"), joblib.Parallel(n_jobs=2) as workers:
            workers(joblib.delayed(look_often)() for _ in range(4))
            pids.append(workers(delayed(os.getpid)() for _ in range(4)))

    pids = []
    if sys.argv[2] == "loky":  # workers outlive the thread that started them
        for _ in range(2):
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
            time.sleep(0.3)
        assert len({*pids[0], *pids[1]}) <= 2

    class Slow(GaussianNB):
        def fit(self, X, y):
            (Path(sys.argv[1]) / str(os.getpid())).touch()
            time.sleep(0.1)
            return super().fit(X, y)

    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(20_000, 10)), np.arange(20_000) % 2)
    with joblib.parallel_config(sys.argv[2]):
        ShadowPool(Slow(), 1000, n_jobs=2, random_state=0).fit(records)
"""


def is_alive(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"  # the dead whom nobody has buried


def find_children(process):
    children = []
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            children += map(int, (thread / "children").read_text().split())
    return children


def wait_until(condition):
    stop = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < stop
        time.sleep(0.05)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")
@pytest.mark.slow  # the watch of a worker, and its end, are seen below
@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_workers_outlive_a_thread_and_a_killed_fit_leaves_neither_them_nor_records(
    backend, tmp_path
):
    script, workers, shared = tmp_path / "script.py", tmp_path / "workers", tmp_path / "shared"
    script.write_text(textwrap.dedent(SCRIPT))
    workers.mkdir()
    shared.mkdir()
    program = subprocess.Popen(
        [sys.executable, str(script), str(workers), backend],
        env={**os.environ, "JOBLIB_TEMP_FOLDER": str(shared)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    children = []
    try:
        wait_until(lambda: program.poll() is not None or len(list(workers.iterdir())) == 2)
        assert program.poll() is None
        children = find_children(program.pid)
        assert {int(one.name) for one in workers.iterdir()} <= set(children)
        assert any(shared.rglob("*.pkl"))  # the records
        program.send_signal(signal.SIGKILL)
        program.wait()
        wait_until(lambda: not any(map(is_alive, children)))
        assert not any(shared.rglob("*.pkl"))
    finally:
        program.kill()
        for child in filter(is_alive, children):
            os.kill(child, signal.SIGKILL)


def find_threads():
    return os.getpid(), [one.name for one in threading.enumerate()]


def test_each_worker_watches_once_and_the_program_itself_never():
    tasks = [delayed(find_threads)() for _ in range(6)]
    for process, names in joblib.Parallel(n_jobs=2)(tasks) + joblib.Parallel(n_jobs=2)(tasks):
        assert process != os.getpid()
        assert names.count("skmia-watch") == 1
    for backend in ("sequential", "threading"):
        found = joblib.Parallel(n_jobs=2, backend=backend)(tasks)
        assert all(process == os.getpid() for process, _ in found)
        assert all("skmia-watch" not in names for _, names in found)


def test_a_worker_looks_once_a_second_and_ends_with_its_program(monkeypatch):
    parents, done = iter([7, 7, 1]), []
    monkeypatch.setattr("os.getppid", lambda: next(parents))
    monkeypatch.setattr("time.sleep", done.append)
    monkeypatch.setattr(tasks, "_end", lambda: done.append("ended"))
    tasks._watch(7)
    assert done == [1, 1, "ended"]


def interrupt_itself():
    os.kill(os.getpid(), signal.SIGINT)
    return os.getpid()


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
def test_workers_leave_interrupts_to_the_program():
    handler = signal.getsignal(signal.SIGINT)
    workers = joblib.Parallel(n_jobs=2)(delayed(interrupt_itself)() for _ in range(4))
    assert os.getpid() not in workers
    joblib.Parallel(n_jobs=1)(delayed(os.getpid)() for _ in range(2))
    assert signal.getsignal(signal.SIGINT) is handler


def test_workers_are_lent_to_others():
    first = joblib.Parallel(n_jobs=2)(delayed(find_threads)() for _ in range(6))
    second = joblib.Parallel(n_jobs=2)(joblib.delayed(find_threads)() for _ in range(6))
    assert len({process for process, _ in first + second}) <= 2
