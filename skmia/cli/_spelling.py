"""Options in other words than those of the help: taken where only one can be meant, else named."""

import re
import shlex
from pathlib import Path

from .._core.guesses import ask_whether, find_alike, find_meant, fold_name
from ._options import CommandError
from ._parser import list_options, list_places, make_parser

# Hidden spellings of options; those that differ by marks and capitals alone are taken as well.
_ALIASES = {
    "--held-out": "--holdout --hold-out --test --test-data --test-set --non-members --unseen",
    "--train": "--training --train-data --training-data --train-set",
    "--data": "--dataset --table --input --data-file",
    "--model": "-m --model-file --model-path --victim",
    "--target": "--target-column --label-column --outcome",
    "--out": "-o --output --out-dir --output-dir --output-file",
    "--verbose": "-v --verbosity",
    "--jobs": "-j --n-jobs --workers --n-workers --num-workers --cores --threads",
    "--shadows": "--n-shadows --num-shadows --shadow-models --n-shadow-models --num-shadow-models",
    "--fpr": "--fprs --max-fpr --target-fpr --rates",
    "--seed": "--random-state --random-seed",
    "--time-limit": "--timeout --time-budget --max-time",
    "--memory-limit": "--max-memory --memory --max-bytes --max-ram",
    "--group": "--groups --sensitive",
    "--group-by": "--person --person-id",
    "--person": "--group-by --person-id",
    "--drop": "--exclude --ignore --drop-columns",
    "--secrets": "--secret --sensitive-columns",
    "--weights": "--sample-weight --sample-weights",
    "--trust-pickle": "--trust --allow-pickle",
    "--checkpoint": "--checkpoint-dir --resume",
    "--config": "-c --cf --cfg --configuration",
    "--quick": "--fast",
    "--format": "-f --output-format",
    "--format=json": "--json",
    "--json": "--format=json",
}
# What others call a command.
_COMMANDS = {
    "audit": "attack attacks run evaluate mia test model assess",
    "table": "synthetic synth tables dataset data",
    "inspect": "list look scan show-file file info",
    "report": "show html page render view",
    "compare": "diff comparison",
    "decide": "sign approve decision release",
    "evidence": "authority dpo gdpr edpb dpia anonymity officer",
    "policy": "policies rules",
}


def spell(words):
    """Write the options of a command as its help does."""
    if not words or words[0] not in _COMMANDS:
        return words
    options, spelled = list_options(words[0]), words[:1]
    for place, word in enumerate(words[1:], 1):
        if word == "--":
            return [*spelled, *words[place:]]
        spelled.append(_spell_option(word, options))
    return spelled


def _spell_option(word, options):
    option, equals, value = word.partition("=")
    if not _is_option(word) or option in options:
        return word
    for usual, others in _ALIASES.items():
        if usual.partition("=")[0] in options:
            if word in others.split():
                return usual
            if option in others.split():
                return f"{usual}{equals}{value}"
    same = [name for name in options if fold_name(name) == fold_name(option)]
    return f"{same[0]}{equals}{value}" if len(same) == 1 and len(option) > 2 else word


def _is_option(word):
    return word.startswith("-") and word != "-" and not re.match(r"-\.?\d", word)


def parse_words(words):
    """Return the arguments of a command, whose files may stand between its options."""
    _check_command(words)
    _check_known_options(words)
    arguments, rest = make_parser().parse_known_args(words)
    if rest and not hasattr(arguments, "files"):
        raise CommandError(f"unrecognized arguments: {shlex.join(rest)}; {_say_help(words[0])}")
    if rest:
        arguments.files = [*arguments.files, *map(Path, rest)]
    return arguments


def _check_command(words):
    """Refuse a first word that is no command, with the one that is meant."""
    word = words[0]
    if word in _COMMANDS or _is_option(word):
        return
    meant = [name for name, others in _COMMANDS.items() if word.lower() in others.split()]
    meant = meant or find_meant(word, _COMMANDS, synonyms=False)
    hint = ask_whether([f"skmia {name}" for name in meant]) if meant else "skmia --help lists them"
    if Path(word).suffix or Path(word).exists():
        hint = f"a command comes first, as in 'skmia audit {shlex.join(words)}'"
    elif word in ("help", "version"):
        hint = ask_whether([f"skmia --{word}"])
    raise CommandError(
        f"argument COMMAND: invalid choice: {word!r} (choose from {', '.join(_COMMANDS)}); {hint}"
    )


def _check_known_options(words):
    if words[0] not in _COMMANDS:
        return
    options, end = list_options(words[0]), words.index("--") if "--" in words else len(words)
    for word in filter(_is_option, words[1:end]):
        option = word.partition("=")[0]
        if option not in options:
            raise CommandError(f"unrecognized arguments: {word}; {_hint(option, words[0])}")


def _hint(option, command):
    """Return what an option that a command does not have may stand for."""
    name, places = option.strip("-"), list_places(command)
    if name.replace("-", "_") in places:
        order = " ".join(places.values())
        return f"it has no option in front of it: skmia {command} {order}"
    here = list_options(command)
    names = [known.strip("-") for known in here]
    meant = find_meant(name, names) or find_alike(name, names)
    if meant:
        return ask_whether([f"--{found}" for found in meant])
    others = [other for other in _COMMANDS if option in list_options(other)]
    if others:
        return f"it is an option of {' and '.join(f'skmia {other}' for other in others)}"
    return _say_help(command)


def _say_help(command):
    return f"skmia {command} --help lists the options"
