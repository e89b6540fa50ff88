"""Policies as they are shipped, and as a user writes them."""

import hashlib
from dataclasses import replace

import pytest

from skmia.disclosure import load_policy, load_rules

SHIPPED = {
    "cautious": (0.05, 0.60, 10, "block", 0.09, 0.02, 3, "cannot be said"),
    "research": (0.10, 0.65, 5, "review", 0.20, 0.05, 10, "conditions"),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_numbers_of_the_shipped_policies(name):
    tpr, auc, cell, leaf_level, risk, loss, epsilon, undecided = SHIPPED[name]
    policy = load_policy(name)
    for release in ("file", "service"):
        limits = policy.limits[release]
        assert (limits["tpr_at_fpr_01"], limits["auc"], limits["epsilon"]) == (tpr, auc, epsilon)
        assert policy.thresholds(release)["k"] == policy.thresholds(release)["small_cells"] == cell
    structure = policy.structure["file"]
    assert (structure["smallest_leaf"].least, structure["smallest_leaf"].level) == (
        cell,
        leaf_level,
    )
    assert structure["residual_dof"].level == ("review" if name == "cautious" else "note")
    assert structure["keeps_rows"].level == "block"
    assert policy.structure["service"]["rounded_answers"].level == "block"
    assert {policy.limits["table"][key] for key in ("singling_out", "linkability")} == {risk}
    assert policy.limits["table"]["privacy_loss"] == loss
    assert policy.undecided == undecided
    assert policy.requires_attacks == {
        "service": ("reference models", "all training rows"),
        "file": ("reference models", "stored numbers", "all training rows"),
        "table": (),
    }
    assert policy.stand_in is (name == "research")
    assert (policy.name, policy.alpha, policy.min_group) == (name, 0.05, 100)
    assert load_rules(policy.rules("file")).name == "sacro_ml"
    assert policy.sha256 == hashlib.sha256(policy.text.encode()).hexdigest()


def test_changed_policy_does_not_pass_for_the_one_that_was_read():
    policy = load_policy("cautious")
    assert replace(policy) == policy
    changed = replace(policy, limits={"service": {"auc": 0.9}})
    assert (changed.name, changed.text, changed.sha256) == ("cautious (changed)", "", "")
    assert replace(changed, alpha=0.1).name == "cautious (changed)"
    assert replace(policy, name="ours", alpha=0.1).name == "ours"
    assert not replace(policy, name="ours").text


OWN = """
name = "ours"
version = 1
[limits.service]
auc = 0.7
gap = 0.1
[structure.service]
k = {min = 3, level = "block"}
"""


def test_a_policy_of_a_file_has_defaults(tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(OWN)
    policy = load_policy(path)
    assert (policy.alpha, policy.groups, policy.undecided) == (0.05, ("all",), "cannot be said")
    assert policy.required == {"service": ("auc", "gap")}
    assert policy.thresholds("service") == {"k": 3}
    assert policy.rules("service") == "skmia"
    assert "file" not in policy.limits
    # A rule that is not named holds; only an empty list waives it.
    assert policy.requires_attacks == {"service": ("reference models", "all training rows")}
    assert not policy.stand_in
    path.write_text(OWN.replace("gap = 0.1", "requires_attacks = []"))
    waived = load_policy(path)
    assert waived.requires_attacks == {"service": ()} and waived.limits == {"service": {"auc": 0.7}}
    assert replace(waived, requires_attacks={}).name == "ours (changed)"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("name = ", "names = ", "A policy knows"),
        ("version = 1", "version = 2", "version = 1"),
        ("version = 1", "version = 1\nalpha = 2", "alpha must be a fraction"),
        ("auc = 0.7", "auc = '0.7'", "auc of a service must be a number"),
        ("auc = 0.7", "required = ['aucs']", "required of a service must be one of gap"),
        ("auc = 0.7", "required = []", "must name one or more of its limits"),
        ("auc = 0.7", "requires_attacks = 1", "requires_attacks of a service must be a list"),
        (
            "auc = 0.7",
            "requires_attacks = ['stored numbers']",
            "requires_attacks of a service must be one of reference models, all training "
            "rows; got 'stored numbers'",
        ),
        (
            "[limits.service]",
            "[table]\nlinkability = 0.1\nrequires_attacks = []\n[limits.service]",
            "A table knows no requires_attacks",
        ),
        ("version = 1", "version = 1\ndefaults = {stand_in = 1}", "stand_in must be true or false"),
        ("[limits.service]", "[limits.services]", "limits knows file, service"),
        ('level = "block"', 'level = "stop"', "the level of k must be one of block, review, note"),
        ("min = 3", "max = 3", "structure: k knows level, min"),
        ("k = ", "size = ", "structure knows"),
        ("version = 1", "version = 1\n[defaults]\nundecided = 'release'", "undecided must be one"),
        ("[limits.service]", "[limits", "is not valid TOML"),
        # A percentage, and a number that nobody measures, would let every model pass.
        ("auc = 0.7", "auc = 70", "auc of a service must be a fraction of at most 1, .* got 70"),
        ("auc = 0.7", "tpr_at_fpr_01 = 5", "tpr_at_fpr_01 of a service must be a fraction"),
        ("gap = 0.1", "gpa = 0.1", "No audit measures 'gpa' of a service; did you mean 'gap'"),
        ("gap = 0.1", "Attribute-gain = 0.1", "did you mean 'attribute_gain'"),
        (
            "gap = 0.1",
            '"tpr@0.01" = 0.1',
            "'tpr@0.01' of a service; a TPR is limited .*_001 at 0.001",
        ),
        ("gap = 0.1", "TPR_at_fpr = 0.1", "No audit measures 'TPR_at_fpr' of a service; a TPR is"),
        (
            "gap = 0.1",
            "gap = 1.01",
            "gap of a service must be a fraction of at most 1, .* got 1.01",
        ),
        ("gap = 0.1", "gap = -1.01", "gap of a service must be a fraction of at most 1"),
        ("auc = 0.7\ngap = 0.1\n", "", "The limits of a service must be one or more; there are no"),
        ("version = 1", "version = 1\nalpha = 0.51", "alpha must be a fraction"),
        ("version = 1", "version = 1\nalpha = 0", "alpha must be a fraction"),
        ("version = 1", "version = 1\ndefaults = {min_group = 0}", "min_group must be an integer"),
        (
            "version = 1",
            "version = 1\ndefaults = {groups = ['some']}",
            "groups must be one of all,",
        ),
        ("version = 1", "version = 1\ndefaults = {group = 'all'}", "defaults knows groups, min_gr"),
        ("min = 3", "min = '3'", "min of k must be a number; got '3'"),
        ("{min = 3, ", "{file = 'a', ", "structure: k knows level, min; got 'file'"),
        ("k = {", "keeps_rows = {", "structure: keeps_rows knows level; got 'min'"),
        ("k = {min = 3", "rules = {file = 3", "The file of rules must be a name or a path; got 3"),
        ('k = {min = 3, level = "block"}', "k = 3", "k of a policy must be a table; got 3"),
        (
            "name = ",
            "# " + "." * 201 + "\nname = ",
            "Line 2 of 'ours.toml' has more than 200 periods",
        ),
        ("name = ", "#" * 10**6 + "\nname = ", "'ours.toml' has more than 1000000 bytes"),
    ],
    ids=range(37),
)
def test_mistakes_in_a_policy_are_one_sentence(old, new, sentence, tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text(OWN.replace(old, new))
    with pytest.raises(ValueError, match=sentence):
        load_policy(path)


def test_the_largest_values_of_a_policy_are_allowed(tmp_path):
    path = tmp_path / "ours.toml"
    rest = "alpha = 0.5\ndefaults = {min_group = 1, groups = ['each', 'all']} #" + "." * 198
    text = OWN.replace("gap = 0.1", "gap = -1.0").replace("auc = 0.7", "auc = 1")
    text = text.replace("version = 1", f"version = 1\n{rest}")
    path.write_text(text + "#" * (10**6 - len(text)))
    policy = load_policy(path)
    assert policy.limits["service"] == {"auc": 1.0, "gap": -1.0}
    assert (policy.alpha, policy.min_group, policy.groups) == (0.5, 1, ("each", "all"))
    # Line ends of another system do not make another policy.
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert load_policy(path).sha256 == hashlib.sha256(text.encode()).hexdigest()


def test_a_number_of_ones_own_may_have_any_limit(tmp_path):
    path = tmp_path / "ours.toml"
    own = ("lifted_odds", "epsilon", "epsilon_upper", "attribute_gain_income", "auc_pr", "map")
    path.write_text(OWN.replace("gap = 0.1", "\n".join(f"{name} = 2" for name in own)))
    assert load_policy(path).limits["service"] == {"auc": 0.7, **dict.fromkeys(own, 2.0)}


def test_policies_that_do_not_exist():
    with pytest.raises(
        FileNotFoundError, match="policy must be one of 'cautious', 'research', 'anon"
    ):
        load_policy("strict")
    with pytest.raises(FileNotFoundError, match="no file 'research_'; did you mean 'research'"):
        load_policy("research_")
    with pytest.raises(TypeError, match="or a path; got None"):
        load_policy(None)
