"""Names of the strategies of del Grosso (2023)."""

STRATEGIES = {
    # ours: row of tables 3.2 to 3.4
    "baseline": "Baseline",
    "softmax response": "Softmax Resp.",
    "modified entropy": "Mod. Entropy",
    "loss": "Loss",
    "gradient norm x": "Grad. Norm $x$",
    "gradient norm w": "Grad. Norm $w$",
    "gradient model x": "Grad. $x$",
    "gradient model w": "Grad. $w$",
    "intermediate outputs": "Int. Outputs",
    "white-box": "White-Box",
    "ensemble": "Ensemble Attacker",
    "adv. distance l2": "Adv. Distance $l_2$",
    "adv. distance linf": "Adv. Distance $l_\\infty$",
    "diversity": "Div. Metric",
    "diversity, learned": "Div. Metric (Learned)",
    "Renyi": "Renyi Div.",
    "Merlin": "Merlin",
    "ODIN": "ODIN",
    "DOCTOR": "DOCTOR",
    "Mahalanobis": "Mahalanobis",
    "Fisher-Rao": "Fisher-Rao",
}
