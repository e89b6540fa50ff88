"""
A model behind a web service
============================

The model runs on a server, and only its answers can be read: probabilities from one address, labels
from another. This example starts such a server on this machine, queries it over HTTP in batches,
and attacks both kinds of answers with shadow models of its own.
"""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import ProxyHandler, Request, build_opener

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from skmia import ShadowPool
from skmia.attacks import LiRA, ThresholdAttack
from skmia.datasets import make_membership_problem
from skmia.metrics import MembershipRocDisplay, auc_interval
from skmia.victims import CallableVictim

# %%
# The server
# ----------
# A forest was trained on the members. The server counts the rows of each request, and refuses the
# first request as too busy.

records, membership = make_membership_problem(1000, random_state=0)
members = records[membership == 1]
forest = RandomForestClassifier(50, random_state=1).fit(members.X, members.y)
requests, busy = {"/proba": [], "/label": []}, {"/proba", "/label"}


class Service(BaseHTTPRequestHandler):
    """Answers a POST of rows in JSON with class probabilities or labels."""

    def do_POST(self):
        rows = json.loads(
            self.rfile.read(int(self.headers["Content-Length"]))
        )
        if self.path in busy:
            busy.remove(self.path)
            self.send_error(503)
            return
        requests[self.path].append(len(rows))
        predict = (
            forest.predict_proba if self.path == "/proba" else forest.predict
        )
        body = json.dumps(predict(np.array(rows)).tolist()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Print nothing."""


@contextmanager
def serve():
    """Run the server in a thread, on a free port of this machine, and close
    it in all cases."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(timeout=10)


# %%
# The client
# ----------
# A function takes a batch of rows and returns the answers. ``CallableVictim`` calls it for at most
# ``batch_size`` rows at a time, and once more after a temporary error. The answers are stored with
# the records, so each record is sent once, and the attacks run after the server has stopped.


class Client:
    """Query an address for a batch of rows."""

    opener = build_opener(ProxyHandler({}))  # the server is on this machine

    def __init__(self, url):
        self.url = url

    def __call__(self, rows):
        body = json.dumps(np.asarray(rows).tolist()).encode()
        request = Request(
            self.url, body, {"Content-Type": "application/json"}
        )
        with self.opener.open(request, timeout=30) as response:
            return np.array(json.load(response))


with serve() as url:
    settings = {"batch_size": 200, "retries": 3, "retry_on": (OSError,)}
    proba = CallableVictim(Client(f"{url}/proba"), classes=[0, 1], **settings)
    label = CallableVictim(
        Client(f"{url}/label"), classes=[0, 1], kind="label", **settings
    )
    asked = {
        "probabilities": records.with_outputs(proba),
        "labels": records.with_outputs(label),
    }
print(requests, proba.n_calls_, proba.n_queries_)

# %%
# The attacks
# -----------
# The service cannot be trained, so the shadow models need an estimator that resembles it: here a
# smaller forest. For the service of labels their probabilities are reduced to labels.

estimator = RandomForestClassifier(20)
kinds = {"probabilities": "auto", "labels": "label"}
scores = {}
for name, kind in kinds.items():
    pool = ShadowPool(estimator, 16, output_kind=kind, random_state=0).fit(
        asked[name]
    )
    signal = "correctness" if kind == "label" else "loss"
    attacks = {
        signal: ThresholdAttack(signal=signal),
        "LiRA": LiRA(None, pool),
    }
    for attack_name, attack in attacks.items():
        key = f"{attack_name}, {name}"
        scores[key] = attack.fit(asked[name]).score_samples(asked[name])
        auc = auc_interval(membership, scores[key])
        print(
            f"{key:22} AUC {auc.estimate:.3f} [{auc.low:.3f}, {auc.high:.3f}]"
        )

# %%
# One label per record does not tell how sure the model is. The shadow models tell for which records
# a correct label is unusual, which gives a higher AUC than correctness alone.

_, ax = plt.subplots()
for key, each in scores.items():
    MembershipRocDisplay.from_predictions(membership, each, name=key, ax=ax)
plt.show()
