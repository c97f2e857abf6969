#!/usr/bin/env python3
"""Journeys of a user with the real program: start, stop, kill, resume, break, look.

Usage: journey.py CASE PROGRAM MPIEXEC. Runs in the source folder on inputs/tiny/gpt.toml, in a fresh run folder; prints what is wrong
and ends with 1, or with 0.
"""
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DECK = "inputs/tiny/gpt.toml"
PLANS = {1: [], 2: ["plan.tp=2"], 4: ["plan.pp=2", "plan.tp=1", "plan.zero=1", "plan.microbatches=4"]}


class Journey:
    def __init__(self, program, mpiexec, folder):
        self.program, self.mpiexec, self.folder = program, mpiexec, folder
        self.problems = []

    def out(self, name):
        return os.path.join(self.folder, name)

    def call(self, ranks, verb, words, deck=DECK):
        launch = [self.mpiexec, "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
        return launch + [self.program, verb, deck] + words

    def start(self, ranks, verb, words, deck=DECK):
        return subprocess.Popen(self.call(ranks, verb, words, deck), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True)

    def finish(self, job, seconds=60):
        try:
            text, _ = job.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            text, _ = job.communicate()
            self.problems.append(f"still running after {seconds} s:\n{text}")
        return job.returncode, text

    def run(self, ranks, words, verb="train", code=0, texts=(), deck=DECK):
        rc, text = self.finish(self.start(ranks, verb, words, deck))
        if rc != code:
            self.problems.append(f"{verb} {' '.join(words)} on {ranks} ranks: exit {rc}, expected {code}\n{text}")
        self.need(text, list(texts) + [f"exit={code}"])
        return text

    def need(self, text, wanted):
        for what in wanted:
            if not re.search(what, text):
                self.problems.append(f"'{what}' is missing in:\n{text}")

    def metrics(self, name):
        rows = {}
        with open(os.path.join(self.out(name), "metrics.jsonl")) as lines:
            for line in lines:
                row = json.loads(line)
                rows[row["step"]] = {k: row[k] for k in ("loss_hex", "grad_norm_hex", "lr") if k in row} | {
                    k: row[k] for k in ("valid_loss_hex",) if k in row}
        return rows

    def same_metrics(self, a, b):
        left, right = self.metrics(a), self.metrics(b)
        if left != right:
            steps = [s for s in sorted(set(left) | set(right)) if left.get(s) != right.get(s)]
            self.problems.append(f"metrics of {a} and {b} differ first at step {steps[0]}: {left.get(steps[0])} and {right.get(steps[0])}")

    def checkpoints(self, name):
        return sorted(glob.glob(os.path.join(self.out(name), "checkpoints", "step-*.h5")))

    def same_tensors(self, a, b):
        shown = [subprocess.run([self.program, "show", self.checkpoints(n)[-1]], capture_output=True, text=True).stdout for n in (a, b)]
        tables = [[line for line in text.splitlines() if line.startswith(("model/", "optimizer/"))] for text in shown]
        if not tables[0] or tables[0] != tables[1]:
            self.problems.append(f"the last checkpoints of {a} and {b} differ or are empty")

    def started(self, name, step):
        """Waits until the run has logged this step."""
        path = os.path.join(self.out(name), "metrics.jsonl")
        for _ in range(600):
            if os.path.exists(path) and f'"step":{step},' in open(path).read().replace(" ", ""):
                return True
            time.sleep(0.05)
        self.problems.append(f"step {step} was never logged")
        return False

    def ranks_of(self, job):
        """Process ids of the job's ranks."""
        listed = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(job.pid)], capture_output=True, text=True).stdout
        return [int(line.split()[0]) for line in listed.splitlines() if self.program in line]


def resume(j, ranks):
    plan = PLANS[ranks] or ["plan.pp=1"]
    j.run(ranks, ["--out", j.out("whole")] + plan)
    j.run(ranks, ["--out", j.out("parts"), "train.stop_after=10"] + plan, texts=["stopped=stop_after", "steps=10 "])
    j.run(ranks, ["--out", j.out("parts")] + plan, texts=["resumed_from=10"])
    j.same_metrics("whole", "parts")
    j.same_tensors("whole", "parts")
    j.run(ranks, ["--out", j.out("parts")] + plan, texts=["finished run"])


def resume_elsewhere(j):
    """Four ranks save, two go on: the loss stays within the bound of plans."""
    j.run(4, ["--out", j.out("whole")] + PLANS[4])
    j.run(4, ["--out", j.out("parts"), "train.stop_after=10"] + PLANS[4])
    j.run(2, ["--out", j.out("parts"), "plan.tp=1", "plan.zero=3"], texts=["resumed_from=10"])
    whole, parts = j.metrics("whole"), j.metrics("parts")
    for step in range(11, 21):
        a, b = (float.fromhex(m[step]["loss_hex"]) for m in (whole, parts))
        if abs(a - b) > 1e-6 * abs(a):
            j.problems.append(f"loss of step {step}: {a} on 4 ranks, {b} on 2")


def trials(j):
    """Trials leave no trace: training after them equals training with the plan alone."""
    text = j.run(2, ["--out", j.out("searched")], verb="run",
                 texts=["Trials", "links", "predicted +measured", "section", "peak_bytes=", r"micro-batch"])
    j.need(text, ["bigram_loss="])
    for name in ("deck.toml", "plan.toml", "profile.h5", "metrics.jsonl", "search.txt"):
        if not os.path.exists(os.path.join(j.out("searched"), name)):
            j.problems.append(f"{name} is missing in the run folder")
    j.run(2, ["--out", j.out("planned"), f"plan.file={j.out('searched')}/plan.toml"])
    j.same_metrics("searched", "planned")
    # The effective deck gives the same run, and a kept profile is used again.
    shutil.copytree(j.out("searched"), j.out("again"))
    shutil.rmtree(os.path.join(j.out("again"), "checkpoints"))
    os.remove(os.path.join(j.out("again"), "metrics.jsonl"))
    j.run(2, ["--out", j.out("again")], verb="run", deck=os.path.join(j.out("searched"), "deck.toml"), texts=["used again"])
    j.same_metrics("searched", "again")


LONG = ["train.steps=4000", "checkpoint.every=50", "plan.tp=2", "train.eval_every=0"]


def killed(j):
    job = j.start(2, "train", ["--out", j.out("run")] + LONG)
    if j.started("run", 60):
        ranks = j.ranks_of(job)
        if len(ranks) != 2:
            j.problems.append(f"expected two ranks, found {ranks}")
        os.kill(ranks[1], signal.SIGKILL)
    rc, text = j.finish(job, 10)
    if rc == 0:
        j.problems.append(f"a killed rank ended with exit 0:\n{text}")
    j.run(2, ["--out", j.out("run"), "train.stop_after=120"] + LONG, texts=[r"resumed_from=(50|100)"])


def signals(j):
    job = j.start(2, "train", ["--out", j.out("run")] + LONG)
    if j.started("run", 10):
        ranks = j.ranks_of(job)
        os.kill(ranks[1], signal.SIGUSR1)
        for _ in range(200):
            if j.checkpoints("run") or job.poll() is not None:
                break
            time.sleep(0.05)
        if not j.checkpoints("run"):
            j.problems.append("SIGUSR1 saved nothing")
        os.kill(ranks[1], signal.SIGTERM)
    rc, text = j.finish(job, 20)
    if rc != 75:
        j.problems.append(f"SIGTERM to one rank: exit {rc}, expected 75\n{text}")
    j.need(text, ["stopped=requeue"])
    last = int(re.search(r"step-(\d+)", j.checkpoints("run")[-1]).group(1))
    j.run(2, ["--out", j.out("run"), f"train.stop_after={last + 5}"] + LONG, texts=[f"resumed_from={last} "])


def touch_files(j):
    job = j.start(2, "train", ["--out", j.out("run")] + LONG)
    if j.started("run", 10):
        open(os.path.join(j.out("run"), "STOP"), "w").close()
    rc, text = j.finish(job, 20)
    if rc != 0:
        j.problems.append(f"STOP: exit {rc}, expected 0\n{text}")
    j.need(text, ["stopped=user"])
    if os.path.exists(os.path.join(j.out("run"), "STOP")):
        j.problems.append("STOP was not removed")


def refusals(j):
    run = ["--out", j.out("run")]
    j.run(2, run + ["cluster.memory=1 MiB"], verb="run", code=4, texts=["no plan fits", "too much"])
    j.run(2, ["--out", j.out("dataless"), 'data.train=["nowhere/*.md"]', "plan.tp=2"], code=5, texts=["nowhere"])
    j.run(2, ["--out", j.out("diverged"), "train.optimizer=sgd", "train.lr=1e30", "train.clip=0", "plan.tp=2"], code=7, texts=["not finite"])
    j.run(1, run + ["plan.pp=1", "train.stop_after=10"])
    j.run(1, run + ["plan.pp=1", "model.hidden=64"], code=2, texts=["another deck"])
    j.run(1, run + ["plan.pp=1", "train.resume=never"], code=2, texts=["train.resume is never"])
    j.run(3, run + ["plan.tp=3"], code=2, texts=["tp = 3 does not divide heads = 4", "legal: 1, 2, 4"])


def damage(j):
    run = ["--out", j.out("run"), "plan.pp=1"]
    j.run(1, run + ["train.stop_after=10"])
    files = j.checkpoints("run")
    if len(files) != 2:
        j.problems.append(f"expected two checkpoints, found {files}")

    def flip(file, place=2):
        with open(file, "r+b") as f:
            f.seek(os.path.getsize(file) // place)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 1]))

    flip(files[-1])
    j.run(1, run + ["train.stop_after=6"], texts=["step-000010.h5", "resumed_from=5"])
    for file in j.checkpoints("run"):
        flip(file, 3)
    j.run(1, run, code=6, texts=["no checkpoint"])


def two_jobs(j):
    job = j.start(2, "train", ["--out", j.out("run")] + LONG)
    if j.started("run", 5):
        j.run(1, ["--out", j.out("run"), "plan.pp=1", "train.steps=4000"], code=3, texts=["lock"])
        open(os.path.join(j.out("run"), "STOP"), "w").close()
    rc, text = j.finish(job, 20)
    if rc != 0:
        j.problems.append(f"the first job did not go on: exit {rc}\n{text}")


def quickstart(j):
    """Twenty steps of the deck that a new user plays first."""
    text = j.run(4, ["--out", j.out("run"), "train.steps=20", "profile.budget=10"], verb="run", deck="inputs/quickstart.toml",
                 texts=["latency", "all-reduce", "Trials", "predicted +measured", "section", "bigram_loss=", "valid_loss="])
    j.need(text, [r"stage +0"])


CASES = {
    "resume1": lambda j: resume(j, 1), "resume2": lambda j: resume(j, 2), "resume4": lambda j: resume(j, 4),
    "resume_elsewhere": resume_elsewhere, "trials": trials, "killed": killed, "signals": signals, "touch_files": touch_files,
    "refusals": refusals, "damage": damage, "two_jobs": two_jobs, "quickstart": quickstart,
}


def main():
    case, program, mpiexec = sys.argv[1:]
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
    folder = tempfile.mkdtemp(prefix="galvatron-journey-")
    journey = Journey(program, mpiexec, folder)
    try:
        CASES[case](journey)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for problem in journey.problems:
        print(f"{case}: {problem}")
    sys.exit(1 if journey.problems else 0)


if __name__ == "__main__":
    main()
