"""Wrong names: of keywords, of attributes of rooms, and of other libraries."""

import importlib
import re
import warnings
from pathlib import Path
from types import FunctionType

import pytest
from public import PUBLIC
from refusals import check_refusal, parametrize_refusals

import skmia
from skmia._core.guesses import find_meant, list_public_names, suggest_path
from skmia._core.other_names import list_equivalents
from skmia.attacks import LiRA
from skmia.disclosure import load_policy
from skmia.metrics import tpr_at_fpr_score

ROOMS = [name for name in dir(skmia) if name not in skmia.__all__]


def test_each_equivalent_exists():
    for name, (_, place, *words) in list_equivalents().items():
        if place is None:
            assert words, name
            continue
        found = skmia
        for part in re.match(r"[\w.]+", place)[0].split("."):
            found = getattr(found, part)


def test_classes_of_the_guide_are_known_and_have_an_equivalent_if_it_names_one():
    page = Path(__file__).parents[2] / "doc" / "coming_from.md"
    known, n_classes = list_equivalents(), 0
    for line in page.read_text("utf-8").splitlines():
        theirs, ours = line.split("|")[1:3] if line.startswith("|") else ("", "")
        for name in re.findall(r"`([A-Z]\w*[a-z]\w*)[`(]", theirs):
            if name not in list_public_names():
                n_classes += 1
                assert (known[name][1] is None) == ("none" in ours), name
    assert n_classes > 25


def test_what_is_public_is_named_by_a_public_module():
    named = [thing for thing in PUBLIC.values() if isinstance(thing, type | FunctionType)]
    assert len(named) > 300
    for thing in named:
        assert "._" not in thing.__module__, thing
        assert getattr(importlib.import_module(thing.__module__), thing.__name__) is thing
    places = list_public_names()
    assert places["Outputs"] == "skmia" and places["LiRA"] == "skmia.attacks"
    offered = {f"{place}.{name}" for name, place in places.items()}
    assert len(offered) > 250 and offered <= {*PUBLIC, "skmia.__version__"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_shows_its_public_names_alone(room):
    module = importlib.import_module(f"skmia.{room}")
    modules = {name for name in dir(module) if hasattr(getattr(module, name), "__path__")}
    modules |= {name for name in dir(module) if type(getattr(module, name)) is type(module)}
    assert set(dir(module)) - modules == set(module.__all__)
    assert not any(name.startswith("_") for name in dir(module))
    assert all(getattr(module, name).__all__ for name in modules)  # public as well


def test_the_package_shows_its_names_and_rooms():
    assert {*skmia.__all__, "attacks", "report"} <= set(dir(skmia))
    assert not {name for name in dir(skmia) if name.startswith("_")} - {"__version__"}


@pytest.mark.parametrize(
    ("module", "name", "told"),
    [
        ("skmia.attacks", "LIRAAttack", "SACRO-ML's LIRAAttack is LiRA here"),
        ("skmia", "LIRAAttack", "SACRO-ML's LIRAAttack is skmia.attacks.LiRA here"),
        ("skmia.attacks", "LIRA", "did you mean 'LiRA'?"),
        ("skmia.attacks", "RmiaAttak", None),
        ("skmia", "LiRA", "it is skmia.attacks.LiRA"),
        ("skmia.metrics", "tpr_at_fpr", "did you mean 'tpr_at_fpr_score'?"),
    ],
)
def test_a_wrong_name_is_an_attribute_error_that_names_the_right_one(module, name, told):
    room = importlib.import_module(module)
    assert not hasattr(room, name)
    with pytest.raises(AttributeError) as caught:
        getattr(room, name)
    assert str(caught.value).startswith(f"module {module!r} has no attribute {name!r}")
    assert told is None or str(caught.value).endswith(told)


def test_an_import_of_a_wrong_name_says_the_same():
    with pytest.raises(ImportError, match="SACRO-ML's LIRAAttack is LiRA here"):
        from skmia.attacks import LIRAAttack  # noqa: F401
    with pytest.raises(ImportError, match="it is skmia.attacks.RMIA"):
        from skmia import RMIA  # noqa: F401
    from skmia.leakage import bounds  # a submodule is no name to guess

    assert bounds.__name__ == "skmia.leakage.bounds"


@parametrize_refusals(
    (
        lambda: LiRA(None, n_shadows=16),
        r"LiRA got .* 'n_shadows'; did you mean 'shadows'\?",
        TypeError,
    ),
    (
        lambda: tpr_at_fpr_score([0, 1], [0, 1], fpr=0.1),
        r"'fpr'; did you mean 'max_fpr'\?",
        TypeError,
    ),
    (lambda: LiRA(None, xyz=1), "'xyz'; it has victim, shadows, signal", TypeError),
    (
        lambda: load_policy("cautius"),
        r"no file 'cautius'; did you mean 'cautious'\?$",
        FileNotFoundError,
    ),
)
def test_wrong_arguments_are_refused(call, words, error):
    check_refusal(call, words, error)


def test_what_names_keywords_is_no_place_of_a_warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tpr_at_fpr_score([0, 1, 0], [0, 1, 0], max_fpr=0.1)
    assert [one.filename for one in caught] == [__file__]


def test_a_guess_stands_for_a_spelling_a_synonym_or_a_slip():
    names = ["held_out", "shadows", "n_jobs", "random_state"]
    guesses = {
        "heldout": "held_out",
        "test": "held_out",
        "shadws": "shadows",
        "seed": "random_state",
    }
    assert {guess: find_meant(guess, names)[0] for guess in guesses} == guesses
    assert find_meant("zebra", names) == []


@pytest.mark.parametrize(
    "guess, meant",
    [
        ("outt", "out"),
        ("oot", "out"),
        ("out/audti.json", "out/audit.json"),
        ("outt/audit.json", "out/audit.json"),
        ("outt/adit.json", "out/audit.json"),
        ("trainn.csv", "train.csv"),
        ("train", "train.csv"),
        ("Train.CSV", "train.csv"),
        ("train.parquet", "train.csv"),
        ("nothing.like.it", None),
        ("no/such/folder", None),
    ],
)
def test_a_path_that_is_not_there_is_answered_with_one_that_is(guess, meant, tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("out/audit.json", "train.csv", "model.joblib"):
        (tmp_path / name).touch()
    told = "" if meant is None else f"; did you mean '{tmp_path / meant}'?"
    assert suggest_path(tmp_path / guess) == told
