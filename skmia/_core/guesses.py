"""What a wrong name stands for: a keyword, an option, a file or a name of another library.

Nothing here is loaded with a room but the functions; the tables are read when a name is wrong.
"""

import re
from contextlib import suppress
from functools import lru_cache, partial, wraps
from itertools import islice
from os import scandir
from pathlib import Path
from types import FunctionType

from .callers import is_import_of_names

# Words by which others call what skmia calls by the first word; parameters and options alike.
SYNONYMS = {
    "held_out": "heldout holdout hold_out test test_data test_set test_table nonmembers "
    "non_members unseen control_data reference_data x_test",
    "train": "training train_data training_data train_set member_data seen x_train",
    "shadows": "n_shadows num_shadows n_shadow_models num_shadow_models shadow_models n_shadow "
    "shadow_model shadow_pool n_models reference_models num_ref_models n_ref_models "
    "num_reference_models n_reference_models n_reference ref_models",
    "n_estimators": "n_shadows num_shadows n_shadow_models num_shadow_models shadows n_models "
    "n_trees num_ref_models n_reference_models",
    "attack_estimator": "attack_model attack_model_type attack_classifier attack_clf "
    "meta_classifier",
    "signal": "metric statistic measure score",
    "sensitive": "attack_feature sensitive_feature sensitive_attribute target_feature",
    "fprs": "fpr target_fpr max_fpr false_positive_rates rates",
    "fpr": "fprs target_fpr max_fpr false_positive_rate rate",
    "target_fpr": "fpr max_fpr alpha false_positive_rate",
    "max_fpr": "fpr target_fpr alpha false_positive_rate",
    "n_jobs": "jobs workers num_workers n_workers n_cores cores n_threads threads cpus",
    "jobs": "n_jobs workers num_workers n_workers cores threads parallel",
    "random_state": "seed random_seed rng generator",
    "seed": "random_state random_seed rng",
    "victim": "model target_model target clf classifier estimator",
    "estimator": "model base_estimator base_model clf classifier net module",
    "model": "model_file model_path victim target_model",
    "records": "data dataset x samples",
    "membership": "y labels members is_member member_labels",
    "data": "dataset table csv input data_file",
    "members": "membership member_column is_member",
    "time_budget": "time_limit timeout max_time budget max_seconds",
    "time_limit": "time_budget timeout max_time budget max_seconds",
    "max_bytes": "max_memory memory_limit memory_budget memory max_ram",
    "memory_limit": "max_bytes max_memory memory_budget memory max_ram",
    "attacks": "attack methods",
    "confidence_level": "alpha confidence level ci conf",
    "group": "groups sensitive protected sensitive_features sensitive_attribute slice",
    "group_by": "person persons person_id patient groups id_column",
    "person": "group_by person_id patient id_column",
    "out": "output output_dir output_path out_dir outdir report_dir dest",
    "verbose": "verbosity v loud",
    "target": "label target_column label_column y outcome",
    "task": "problem problem_type",
    "drop": "exclude ignore drop_columns remove",
    "secrets": "secret sensitive sensitive_columns aux_secret",
    "batched": "batch batching vectorized",
    "checkpoint": "checkpoint_dir resume cache cache_dir",
    "epsilon": "eps target_epsilon",
    "noise_multiplier": "sigma noise noise_scale",
    "max_grad_norm": "clip l2_norm_clip clip_norm clipping max_norm",
    "real": "train original ori training_data real_data",
    "synthetic": "syn fake synth synthetic_data",
    "population": "reference public_data x_public",
    "n_queries": "queries num_queries",
    "trust_pickle": "trust allow_pickle unsafe",
    "quick": "fast",
    "release": "release_as deployment",
    "require_sandbox": "sandbox",
    "fail_above": "fail threshold max_auc limit limits fail_if",
    "label_map": "labels mapping class_map",
    "positive": "positive_class pos_label",
    "decimals": "precision round digits",
    "answers": "predictions probabilities proba preds outputs",
    "validation": "val eval_set valid",
    "weights": "sample_weight sample_weights",
    "by": "name signed_by author who",
    "because": "why comment",
    "sep": "separator delimiter delim",
    "encoding": "charset codec",
    "na_values": "na missing null nan",
    "dtype": "type types dtypes",
}


def fold_name(name):
    """Return a name without case and marks, by which two spellings are one."""
    return "".join(letter for letter in name.lower() if letter.isalnum())


@lru_cache(maxsize=1)
def _read_synonyms():
    return {name: {fold_name(word) for word in words.split()} for name, words in SYNONYMS.items()}


def find_meant(guess, known, synonyms=True, cutoff=0.75):
    """Return the names that a guess stands for: another spelling, a synonym, or a slip.

    cutoff: least similarity of a slip, of which 1 is the same name.
    """
    known, wanted = list(known), fold_name(guess)
    same = [name for name in known if fold_name(name) == wanted]
    if not same and synonyms:
        folded = {fold_name(name): words for name, words in _read_synonyms().items()}
        same = [name for name in known if wanted in folded.get(fold_name(name), ())]
    if same or len(wanted) < 2:
        return same
    from difflib import get_close_matches  # not for what needs no guess

    by_fold = {fold_name(name): name for name in known}
    return [by_fold[name] for name in get_close_matches(wanted, list(by_fold), n=2, cutoff=cutoff)]


# Words that many names have, so that one alone says little.
_USUAL = {"and", "attack", "attacks", "data", "fetch", "for", "load", "make", "model", "models"}
_USUAL |= {"num", "score", "type"}


def find_alike(guess, known):
    """Return the names that share the most words with a guess, if they are one or two."""
    shared = {name: len(_split_words(guess) & _split_words(name)) for name in known}
    most = max(shared.values(), default=0)
    found = [name for name, count in shared.items() if count == most > 0]
    return found if len(found) < 3 else []


def _split_words(name):
    """Return the words of a name, which are parted by marks or begin with a capital."""
    words = {word.lower() for word in re.findall("[A-Z]*[a-z0-9]+|[A-Z]+", name)}
    return {word for word in words if len(word) > 2} - _USUAL


def ask_whether(names):
    """Return the question whether one of some names was meant."""
    return f"did you mean {' or '.join(map(repr, names))}?"


# Files of a folder among which the one that was meant is looked for.
_MOST_FILES = 10_000
_LIKE = 0.65  # least similarity; one letter of three is another one


def suggest_path(path):
    """Return the question whether a file or folder that is there was meant, or an empty text."""
    found = _find_close_paths(Path(path))
    return f"; {ask_whether(map(str, found[:2]))}" if found else ""


def _find_close_paths(path):
    """Return paths that are there and that one that is not may stand for."""
    if path.exists() or path == path.parent:
        return [path]
    found = []
    for parent in _find_close_paths(path.parent):
        names = _list_known_names(parent)
        meant = [path.name] if path.name in names else []
        meant = meant or find_meant(path.name, names, synonyms=False, cutoff=_LIKE)
        if not meant:  # without its ending, or with another one
            stem = fold_name(path.stem)
            meant = [name for name in names if fold_name(Path(name).stem) == stem]
        found += [parent / name for name in sorted(meant)]
    return found


def _list_known_names(folder):
    with suppress(OSError), scandir(folder) as entries:
        return [entry.name for entry in islice(entries, _MOST_FILES)]
    return []


_MOST_LISTED = 12


def name_keywords(function, called=None):
    """Return a function that answers a keyword that it does not have with the one that is meant."""
    from inspect import signature  # not for the help of the command line

    parameters = signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return function
    names = tuple(one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY)
    called = called or function.__name__

    @wraps(function)
    def with_names(*args, **kwargs):
        check_keywords(called, kwargs, names)
        return function(*args, **kwargs)

    return with_names


def check_keywords(called, given, names):
    """Refuse a keyword that a function does not have, with the one that is meant."""
    guess = next((name for name in given if name not in names), None)
    if guess is None:
        return
    listed = [name for name in names if name != "self"]
    meant = find_meant(guess, listed) or find_alike(guess, listed)
    more = ", ..." if len(listed) > _MOST_LISTED else ""
    hint = ask_whether(meant) if meant else f"it has {', '.join(listed[:_MOST_LISTED])}{more}"
    if not meant and fold_name(guess) in _read_synonyms()["out"] | {"out"}:
        hint = "what it returns writes files itself, as by save and to_html"
    raise TypeError(f"{called} got an unexpected keyword argument {guess!r}; {hint}")


def name_keywords_of_class(kind):
    """Do the same for the constructor of a class, where it is defined in skmia."""
    for base in kind.__mro__:
        init = vars(base).get("__init__")
        if init is not None:
            if base.__module__.partition(".")[0] == "skmia" and isinstance(init, FunctionType):
                wrapped = name_keywords(init, base.__name__)
                if not hasattr(init, "__wrapped__") and wrapped is not init:
                    base.__init__ = wrapped
            return


@lru_cache(maxsize=1)
def list_public_names():
    """Return the public names of skmia with the modules that offer them, read from their source."""
    root, places = Path(__file__).parents[1], {}
    for path in sorted(root.rglob("*.py"), key=lambda path: (len(path.parts), path)):
        parts = list(path.relative_to(root).with_suffix("").parts)
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if any(part.startswith("_") for part in parts) or parts[:1] == ["cli"]:
            continue
        for name in _read_public_names(path):
            places.setdefault(name, ".".join(["skmia", *parts]))
    return places


def _read_public_names(path):
    """Return the list ``__all__`` of a source file, without running it."""
    import ast

    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "__all__":
            return ast.literal_eval(node.value)
    return []


class MissingName(AttributeError):
    """Error about a name that a module lacks, which looks for its cure where it is read.

    To find the module of a function without one, pickle asks every module that is loaded.
    """

    def __init__(self, told, find_cure):
        super().__init__(told)
        self._find_cure = find_cure

    def __str__(self):
        told, cure = self.args[0], self._find_cure()
        return told if cure is None else f"{told}: {cure}"

    def __reduce__(self):
        return AttributeError, (str(self),)


# So that a traceback says what it stands for.
MissingName.__module__, MissingName.__qualname__ = "builtins", "AttributeError"


def make_refusal(module, offered):
    """Return the error about a name that a module does not have, with what it is here."""

    def refuse(name):
        told = f"module {module!r} has no attribute {name!r}"
        find_cure = partial(_find_cure, module, name, offered)
        # Programs look for names with an underscore, and imports for submodules, all the time.
        if name.startswith("_") or _is_submodule(module, name):
            return AttributeError(told)
        # An import of names loses the words of an AttributeError.
        if is_import_of_names(2) and (cure := find_cure()) is not None:
            return ImportError(f"cannot import name {name!r} from {module!r}: {cure}", name=module)
        return MissingName(told, find_cure)

    return refuse


def _is_submodule(module, name):
    """Whether a module of the package has a submodule of this name."""
    root = Path(__file__).parents[1].joinpath(*module.split(".")[1:])
    return (root / name).is_dir() or (root / f"{name}.py").is_file()


def _find_cure(module, name, offered):
    from .other_names import say_equivalent

    told = say_equivalent(name, module)
    if told is not None:
        return told
    places = list_public_names()
    if name in places:
        return f"it is {places[name]}.{name}"
    meant = find_meant(name, offered, synonyms=False)
    meant = meant or find_meant(name, places, synonyms=False)
    meant = meant or find_alike(name, offered) or find_alike(name, places)
    if set(meant) <= set(offered) and meant:
        return ask_whether(meant)
    return ask_whether([f"{places[found]}.{found}" for found in meant]) if meant else None
