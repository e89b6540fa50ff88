"""The command line, ``skmia``, and its commands."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module

from .._core.escaping import visible, visible_lines
from .._core.progress import can_write
from .._core.text import ASCII
from ..exceptions import TrainingError
from ._colors import color_levels
from ._options import CommandError, GateClosed, check, read_config, save_config, tell
from ._parser import make_parser
from ._spelling import parse_words, spell
from ._stored_documents import keep_decision, require_documents

# The commands, and the modules that run them.
_COMMANDS = dict.fromkeys(("compare", "decide", "evidence", "report"), "_documents")
_COMMANDS |= {name: f"_{name}" for name in ("audit", "inspect", "policy", "table")}

# What the library raises where it refuses its input; all else is a fault of the program.
_BAD_INPUT = (ValueError, TypeError, OSError, ImportError, TrainingError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Return code: 0 where every limit of --fail-above holds, the policy recommends a release, and the
    audit found leakage or none; 1 where a limit is exceeded, or the policy recommends no release
    without conditions; 2 for bad input; 3 for a fault of the program or a page that could not be
    made; 4 where nothing can be said about leakage, a limit or a release; 130 when interrupted, 143
    when terminated (SIGTERM) and 129 when the terminal was closed (SIGHUP). But for 0 one line on
    the standard error says why.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    with _have_streams(), _signals_interrupt():
        return _main(argv)


@contextmanager
def _have_streams():
    """Give a program that was started without streams, as a service is, some that keep nothing."""
    names = [name for name in ("stdout", "stderr") if _is_missing_stream(getattr(sys, name))]
    if not names:
        yield
        return
    # A file must not get the number of a stream, to which others may write.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(number, True)
    os.close(number)
    given = {name: getattr(sys, name) for name in names}
    with ExitStack() as opened:
        for name in names:
            setattr(sys, name, opened.enter_context(open(os.devnull, "w", encoding="utf-8")))
        try:
            yield
        finally:
            for name in names:
                setattr(sys, name, given[name])


def _is_missing_stream(stream):
    return stream is None or getattr(stream, "closed", False)


class _TerminatedBySignal(KeyboardInterrupt):
    """A signal that ends the program as Ctrl-C does."""

    def __init__(self, number):
        super().__init__()
        self.number = number


@contextmanager
def _signals_interrupt():
    """Let signals that end the program tell what was kept; a second one ends it at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    program = os.getpid()

    def interrupt(number, frame):
        signal.signal(number, signal.SIG_DFL)
        if os.getpid() != program:  # a process that was forked from this one
            signal.raise_signal(number)
            return
        raise _TerminatedBySignal(number)

    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    # A program started with nohup goes on.
    usual = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in usual:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in usual:
            signal.signal(number, signal.SIG_DFL)


def _main(argv):
    arguments = None
    try:
        _check_arguments(argv)
        if not argv:
            _print(make_parser().format_help().rstrip())
            return 0
        arguments = parse_words(read_config(spell(argv), spell))
        check(arguments)
        _print(_run_command(arguments))
        return 0
    except KeyboardInterrupt as error:
        number = getattr(error, "number", signal.SIGINT)
        return _fail(argv, _describe_interruption(arguments, error), 128 + number)
    except GateClosed as error:
        _print(error.text)
        return _fail(argv, f"exit code {error.code}: {error}", error.code)
    except CommandError as error:
        return _refuse_call(argv, error, str(error), 2)
    except _BAD_INPUT as error:
        return _refuse_call(argv, error, tell(error), 2)
    except Exception as error:
        from .._core.budget import describe_lack, is_of_memory

        if is_of_memory(error):
            told = f"{describe_lack(error)}; give a random sample of the rows of both sides"
            return _refuse_call(argv, error, told, 2)
        told = f"unexpected {type(error).__name__}: {tell(error)} (SKMIA_DEBUG=1 shows where)"
        return _refuse_call(argv, error, told, 3)


def _check_arguments(argv):
    for word in argv:
        if "\0" in word:
            raise CommandError(f"an argument holds a null character: {word!r}")


def _run_command(arguments):
    if getattr(arguments, "save_config", None) is not None:
        save_config(arguments, make_parser().parse_args(["audit"]))
    require_documents(arguments)
    keep_decision(arguments)
    # --help and --version need none of these modules.
    module = import_module(f".{_COMMANDS[arguments.command]}", __package__)
    return getattr(module, f"run_{arguments.command}")(arguments, _print)


def _describe_interruption(arguments, error):
    """Return what is left, by the note of ``saying_what_is_kept`` in ``_training/plan.py``.

    Its text is that of ``describe_kept`` in ``_training/checkpoint.py``.
    """
    kept = getattr(error, "__notes__", None)
    if kept:
        return f"interrupted; {' '.join(kept)}"
    if getattr(arguments, "command", None) != "audit":
        return "interrupted"
    if arguments.checkpoint is None:
        return "interrupted; no shadow model was kept (--checkpoint DIR keeps the finished ones)"
    return f"interrupted; finished shadow models, if any, are kept in {arguments.checkpoint}"


def _print(text):
    if not text:
        return
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of groups in any script
    text = visible_lines(text)
    if not can_write(sys.stdout, text):
        text = text.translate(ASCII)
    if sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        text = color_levels(text)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # The reader has seen enough. Python would complain once more when it flushes at its end.
        _close_output()
    except OSError as error:
        _close_output()
        raise CommandError(
            f"the standard output cannot be written: {error.strerror or error}"
        ) from error


def _close_output():
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse_call(argv, error, message, code):
    if "--debug" in argv or os.environ.get("SKMIA_DEBUG"):
        raise error
    return _fail(argv, message, code)


def _fail(argv, message, code):
    command = f"skmia {argv[0]}" if argv[:1] and argv[0] in _COMMANDS else "skmia"
    with suppress(OSError, ValueError):  # the terminal may be gone
        print(f"{command}: {visible(message)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
