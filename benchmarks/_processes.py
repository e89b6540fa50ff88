"""What a piece of work costs: seconds, processor time, running threads and memory (Linux)."""

import threading
import time
from contextlib import suppress
from pathlib import Path

import psutil


def _tree():
    own = psutil.Process()
    return [own, *own.children(recursive=True)]


def _busy_seconds():
    """Processor time of this process and of all below it, of those that have ended too."""
    total = 0.0
    for process in _tree():
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def _count_running():
    """Threads of all processes that run or wait for a processor at this moment."""
    running = 0
    for process in _tree():
        for path in Path(f"/proc/{process.pid}/task").glob("*/stat"):
            with suppress(OSError):
                running += path.read_text().rpartition(")")[2].split()[0] == "R"
    return running


def bytes_written():
    """Bytes that this process has written: to files, shared memory and pipes, not to sockets."""
    return int(Path("/proc/self/io").read_text().split("wchar:")[1].split()[0])


def bytes_on_loopback():
    """Bytes that processes of this machine have sent each other through sockets."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.strip().startswith("lo:"))


def reset_peak():
    """Forget the largest memory of this process; its memory now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return psutil.Process().memory_info().rss


def peak_memory():
    """Largest memory of this process since :func:`reset_peak`, in bytes."""
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.split("VmHWM:")[1].split()[0])


class Watch:
    """Costs of what is done inside ``with Watch() as watch``.

    Attributes
    ----------
    seconds, busy : float
        Of the clock, and of all processors in this process and all below it.
    threads : float
        Mean number of threads of these processes that ran or waited for a processor, while any did.
    written, sent : int
        Bytes that this process wrote, and that went through sockets of this machine.
    """

    def __enter__(self):
        self._done, self._counts = threading.Event(), []
        self._watcher = threading.Thread(target=self._look, daemon=True)
        self._watcher.start()
        self._start = time.perf_counter(), _busy_seconds(), bytes_written(), bytes_on_loopback()
        return self

    def _look(self):
        while not self._done.wait(0.05):
            self._counts.append(_count_running() - 1)  # the one that looks

    def __exit__(self, *error):
        stop = time.perf_counter(), _busy_seconds(), bytes_written(), bytes_on_loopback()
        self._done.set()
        self._watcher.join()
        self.seconds, self.busy, self.written, self.sent = (
            after - before for after, before in zip(stop, self._start, strict=True)
        )
        counts = [count for count in self._counts if count > 0]
        self.threads = sum(counts) / len(counts) if counts else 0.0
