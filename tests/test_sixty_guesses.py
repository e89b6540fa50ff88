"""What people who come from other tools type: each guess ends in a result or in the right name."""

import importlib

import joblib
import numpy as np
import pandas as pd
import pytest
from quick_audits import shrink_models
from sklearn.tree import DecisionTreeClassifier

import skmia
from skmia import ShadowPool, audit
from skmia.attacks import RMIA, AttributeInferenceAttack, LiRA, ShadowAttack, ThresholdAttack
from skmia.cli import _main, main
from skmia.defenses import DPSGDClassifier
from skmia.inspection import inspect_model
from skmia.metrics import operating_point, tpr_at_fpr_score
from skmia.synthetic import audit_table

FINE = object()
MODEL = "audit model.joblib train.csv held_out.csv --trust-pickle"
# Calls of the command line, and FINE or words of the one sentence that they end in.
CALLS = [
    # The held-out rows, the options of other tools, and short ones.
    ("audit model.joblib --train train.csv --held-out held_out.csv --trust-pickle", FINE),
    ("audit model.joblib --train train.csv --heldout held_out.csv --trust-pickle", FINE),
    ("audit model.joblib --train train.csv --holdout held_out.csv --trust-pickle", FINE),
    ("audit model.joblib --train train.csv --test held_out.csv --trust-pickle", FINE),
    ("audit model.joblib --train train.csv --held_out=held_out.csv --trust-pickle", FINE),
    ("audit --model-path model.joblib --training train.csv --test-set held_out.csv --trust", FINE),
    (f"{MODEL} -o out", FINE),
    (f"{MODEL} --output-dir out", FINE),
    (f"{MODEL} -v", FINE),
    (f"{MODEL} --n-jobs 1", FINE),
    (f"{MODEL} --workers=1", FINE),
    (f"{MODEL} --n-shadows 8", FINE),
    (f"{MODEL} --num-shadow-models 8", FINE),
    (f"{MODEL} --max-fpr 0.1", FINE),
    (f"{MODEL} --random-state 1", FINE),
    (f"{MODEL} --timeout 60", FINE),
    (f"{MODEL} --json", FINE),
    (f"{MODEL} --target-column income", FINE),
    (f"{MODEL} --sensitive site", FINE),
    # Options that stand for none, or for one of another command.
    (f"{MODEL} --verbos", "did you mean '--verbose'?"),
    (f"{MODEL} --polcy cautious", "did you mean '--policy'?"),
    (f"{MODEL} --threshold 0.6", "did you mean '--fail-above'?"),
    (f"{MODEL} --eval-set held_out.csv", "did you mean '--validation'?"),
    (f"{MODEL} --keep id", "it is an option of skmia table"),
    (f"{MODEL} --epsilon 3", "skmia audit --help lists the options"),
    ("inspect --model model.joblib", "skmia inspect MODEL DATA"),
    ("table --real train.csv --synthetic made.csv", "skmia table SYNTHETIC REAL HELD_OUT"),
    (f"{MODEL} --policy cautions", "there is no file 'cautions'; did you mean 'cautious'?"),
    (f"{MODEL} --cf configs.toml", "--config: file not found: configs.toml"),
    (f"{MODEL} --num-ref-models 8", "did you mean '--shadows'?"),
    (f"{MODEL} --sensitive-attribute site", "did you mean '--group'?"),
    (f"{MODEL} --report-format json", "did you mean '--format'?"),
    ("run model.joblib train.csv held_out.csv", "did you mean 'skmia audit'?"),
    ("report outt", "did you mean 'out'?"),
    ("report out/audti.json", "did you mean 'out/audit.json'?"),
    ("compare out oot", "did you mean 'out'?"),
    ("report .", "holds neither audit.json nor table.json; did you mean 'out'?"),
    ("inspect model", "did you mean 'model.joblib'?"),
    (f"{MODEL} --format jsn", "did you mean 'json'?"),
    # Commands.
    ("attack model.joblib train.csv held_out.csv", "did you mean 'skmia audit'?"),
    ("diff out out", "did you mean 'skmia compare'?"),
    ("synthetic made.csv train.csv", "did you mean 'skmia table'?"),
    ("model.joblib train.csv held_out.csv", "'skmia audit model.joblib train.csv held_out.csv'"),
    ("help", "did you mean 'skmia --help'?"),
    # Files by their places, in other places, in two, and beside the right one.
    (f"{MODEL} --quick", FINE),
    ("audit --trust-pickle model.joblib --quick train.csv held_out.csv", FINE),
    ("table made.csv train.csv held_out.csv", FINE),
    ("table made.csv train.csv --out out held_out.csv", FINE),
    ("inspect model.joblib train.csv --trust-pickle", FINE),
    ("audit train.csv model.joblib held_out.csv", "model.joblib train.csv held_out.csv"),
    ("inspect train.csv model.joblib", "A model and one table of candidates: model.joblib train"),
    ("inspect model.joblib train.csv held_out.csv", "skmia audit compares training rows with"),
    ("audit model.joblib trainn.csv held_out.csv", "did you mean 'train.csv'?"),
    ("audit model.joblib train.csv heldout.csv", "did you mean 'held_out.csv'?"),
    ("audit modl.joblib train.csv held_out.csv", "did you mean 'model.joblib'?"),
    ("audit model.joblib train.csv ./train.csv --trust-pickle", "are the same file, train.csv"),
    ("table train.csv train.csv held_out.csv", "SYNTHETIC and REAL are the same file"),
    ("report out", FINE),
    ("compare out out/audit.json", FINE),
    ("decide out --by me --decision refuse", "has no recommendation to decide on"),
    ("report out/report.html", "the file of its numbers is needed: out/audit.json"),
    ("compare empty out", "holds neither audit.json nor table.json"),
    ("inspect model.joblib --trust-pickle -o pages/", FINE),
    (f"{MODEL} --out page.html", FINE),
]
RNG = np.random.default_rng(0)
TREE = DecisionTreeClassifier(random_state=0)
# Calls in Python.
KEYWORDS = [
    (lambda: audit(TREE, train=1, heldout=2), "did you mean 'held_out'?"),
    (lambda: audit(TREE, train=1, test=2), "did you mean 'held_out'?"),
    (lambda: audit(TREE, train=1, holdout=2), "did you mean 'held_out'?"),
    (lambda: audit(TREE, n_shadows=16), "did you mean 'shadows'?"),
    (lambda: audit(TREE, fpr=0.1), "did you mean 'fprs'?"),
    (lambda: audit(TREE, seed=0), "did you mean 'random_state'?"),
    (lambda: audit(target_model=TREE), "did you mean 'victim'"),
    (lambda: audit(TREE, time_limit=60), "did you mean 'time_budget'?"),
    (lambda: audit(TREE, target_fprs=[0.1]), "did you mean 'fprs'?"),
    (lambda: audit(TREE, num_ref_models=4), "did you mean 'shadows'?"),
    (lambda: audit(TREE, sensitive_attribute="sex"), "did you mean 'group'?"),
    (lambda: audit(TREE, output_dir="out"), "writes files itself, as by save and to_html"),
    (lambda: audit_table(1, 2, holdout=3), "did you mean 'held_out'?"),
    (lambda: audit_table(ori=1, syn=2), "did you mean 'real'?"),
    (lambda: LiRA(TREE, n_shadow_models=16), "did you mean 'shadows'?"),
    (lambda: LiRA(TREE, fix_variance=True), "did you mean 'variance'?"),
    (lambda: ShadowAttack(attack_model_type="rf"), "did you mean 'attack_estimator'?"),
    (lambda: ThresholdAttack(TREE, metric="loss"), "did you mean 'signal'?"),
    (lambda: AttributeInferenceAttack(attack_feature=0), "did you mean 'sensitive'?"),
    (lambda: ShadowPool(TREE, num_shadow_models=8), "did you mean 'n_estimators'?"),
    (lambda: RMIA(target_model=TREE), "did you mean 'victim'?"),
    (lambda: RMIA(TREE, temperatures=2.0), "did you mean 'temperature'?"),
    (lambda: ShadowPool(TREE, n_shadows=16), "did you mean 'n_estimators'?"),
    (lambda: DPSGDClassifier(TREE, sigma=1.0), "did you mean 'noise_multiplier'?"),
    (lambda: inspect_model(TREE, data=1), "did you mean 'records'?"),
    (lambda: tpr_at_fpr_score([0, 1], [0, 1], fpr=0.1), "did you mean 'max_fpr'?"),
    (lambda: tpr_at_fpr_score([0, 1], [0, 1], fpr_threshold=0.1), "did you mean 'max_fpr'?"),
    (lambda: operating_point([0, 1], [0, 1], target_fpr=0.1), "did you mean 'max_fpr'?"),
]
# Names of other libraries, and those of skmia elsewhere.
NAMES = [
    ("attacks.LIRAAttack", "SACRO-ML's LIRAAttack is LiRA here"),
    ("attacks.WorstCaseAttack", "SACRO-ML's WorstCaseAttack is skmia.signals.Signals here"),
    ("attacks.MembershipInferenceBlackBox", "ART's MembershipInferenceBlackBox is ShadowAttack"),
    ("attacks.LabelOnlyDecisionBoundary", 'ThresholdAttack(signal="boundary_distance") here'),
    ("attacks.AttackRMIA", "LeakPro's AttackRMIA is RMIA here"),
    ("attacks.run_rmia", "Privacy Meter's run_rmia is RMIA here"),
    ("attacks.AttackInputData", "TensorFlow Privacy's AttackInputData is skmia.Records here"),
    ("defenses.PrivacyEngine", "Opacus's PrivacyEngine is DPSGDClassifier here"),
    ("defenses.DPKerasSGDOptimizer", "is DPSGDClassifier here"),
    ("synthetic.SinglingOutEvaluator", "Anonymeter's SinglingOutEvaluator is SinglingOutRisk here"),
    ("synthetic.DCROverfittingProtection", "SDMetrics's DCROverfittingProtection is PrivacyLoss"),
    ("victims.PyTorchClassifier", "is not needed: pass the model itself"),
    ("attacks.ReferenceAttack", "Privacy Meter's ReferenceAttack is LiRA here"),
    ("attacks.LossAttack", 'ThresholdAttack(signal="loss") here'),
    ("metrics.RocCurveDisplay", "scikit-learn's RocCurveDisplay is MembershipRocDisplay here"),
    ("metrics.roc_auc_score", "takes attacks, their scores and Records as they are"),
    ("datasets.load_adult", "did you mean 'fetch_adult'?"),
    ("datasets.make_classification", "make_classification is make_membership_problem here"),
    ("inspection.inspect", "did you mean 'inspect_model'?"),
    ("synthetic.CTGAN", "SDV's CTGAN is SDVGenerator here"),
    ("attacks.Rmia", "did you mean 'RMIA'?"),
    ("RMIA", "it is skmia.attacks.RMIA"),
    ("metrics.LiRA", "it is skmia.attacks.LiRA"),
    ("audit_table", "it is skmia.synthetic.audit_table"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guesses")
    rows = {"age": RNG.normal(40, 9, 120).round(1), "pay": RNG.normal(size=120).round(3)}
    table = pd.DataFrame(rows).assign(site=["a", "b"] * 60)
    table["income"] = np.where(table["age"] > 40, "high", "low")
    table[:60].to_csv(folder / "train.csv", index=False)
    table[60:].to_csv(folder / "held_out.csv", index=False)
    table.sample(60, random_state=0).to_csv(folder / "made.csv", index=False)
    model = TREE.fit(table[["age", "pay"]][:60], table["income"][:60])
    joblib.dump(model, folder / "model.joblib")
    (folder / "empty").mkdir()
    X, y = table[["age", "pay"]], table["income"]
    sides = {"train": (X[:60], y[:60]), "held_out": (X[60:], y[60:])}
    attacks = {"loss": ThresholdAttack()}
    with pytest.MonkeyPatch.context() as patch:
        shrink_models(patch)
        audit(model, **sides, attacks=attacks, file=False, random_state=0).save(folder / "out")
    return folder


@pytest.mark.parametrize(("call", "told"), CALLS, ids=[call for call, _ in CALLS])
def test_a_call(folder, monkeypatch, capsys, call, told):
    monkeypatch.chdir(folder)
    if call.startswith(("audit", "table")) and told is FINE:  # an audit takes seconds
        monkeypatch.setattr(_main, "_run_command", lambda arguments: "audited")
    code = main(call.split())
    out, err = capsys.readouterr()
    if told is FINE:
        assert (code, err) == (0, "") and out
        return
    assert code == 2 and told in err
    assert err.count("\n") == 1 and len(err) < 400


@pytest.mark.parametrize(("call", "told"), KEYWORDS, ids=[told for _, told in KEYWORDS])
def test_a_keyword(call, told):
    with pytest.raises(TypeError) as caught:
        call()
    assert told in str(caught.value)


@pytest.mark.parametrize(("name", "told"), NAMES, ids=[name for name, _ in NAMES])
def test_a_name(name, told):
    room, _, last = name.rpartition(".")
    module = importlib.import_module(f"skmia.{room}") if room else skmia
    assert not hasattr(module, last)
    with pytest.raises(AttributeError) as caught:
        getattr(module, last)
    assert told in str(caught.value)


def test_there_are_sixty_of_them():
    assert len({*(call for call, _ in CALLS), *(name for name, _ in NAMES)}) + len(KEYWORDS) >= 60


@pytest.mark.usefixtures("quick_tables")
def test_files_of_a_page_that_is_named(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    call = "table made.csv train.csv held_out.csv --drop site -o risk.html"
    assert main(call.split()) in (0, 4)
    capsys.readouterr()
    assert {"risk.html", "risk.json"} <= {path.name for path in folder.iterdir()}
    assert main(["report", "risk.json", "--out", "pages2/"]) == 0
    assert (folder / "pages2" / "report.html").is_file()


@pytest.mark.usefixtures("quick_tables")
def test_without_a_page_the_last_line_says_how_one_is_written(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    main(["table", "made.csv", "train.csv", "held_out.csv", "--drop", "site"])
    assert capsys.readouterr().out.splitlines()[-1].endswith("--out FOLDER, or FILE.html")
    main(["inspect", "model.joblib", "--trust-pickle"])
    assert capsys.readouterr().out.splitlines()[-1] == "A page of this: --out FILE.html"
