#!/usr/bin/env python3
"""Interruptions of every kind, phase by phase: how the job ends, and that the next one goes on as if nothing had been.

Usage: interruptions.py CASE PROGRAM MPIEXEC. Plays in the source folder on inputs/tiny/gpt.toml, in fresh run folders.
"""
import os
import random
import re
import signal
import time

from journey import main

SHORT = ["train.steps=300", "train.eval_every=0", "checkpoint.every=20", "plan.tp=2", "model.hidden=64"]


def requeued(j):
    """SIGTERM to one rank again and again, whatever is going on: the last attempt ends with the bits of a run left alone."""
    j.run(2, ["--out", j.out("whole")] + SHORT)
    draw = random.Random(int(os.environ.get("GALVATRON_TEST_SEED", "3")))
    begun = 0
    for attempt in range(4):
        job = j.start(2, "train", ["--out", j.out("parts")] + SHORT)
        if j.started(job, "parts", begun + draw.randrange(5, 40)):
            os.kill(draw.choice(j.ranks_of(job)), signal.SIGTERM)
        rc, text = j.finish(job)
        if rc == 0 and "steps=300" in text:
            break
        j.ended(rc, 75, text, ["stopped=requeue"], f"attempt {attempt}")
        if j.last_checkpoint_step("parts") <= begun:
            j.problems.append(f"attempt {attempt} saved nothing new:\n{text}")
        begun = j.last_checkpoint_step("parts")
    j.run(2, ["--out", j.out("parts")] + SHORT, texts=["steps=300|finished run"])
    j.same_metrics("whole", "parts")
    j.same_tensors("whole", "parts")


def behind_steps(j):
    """Checkpoints behind the steps or between them, through whichever calls: the same bits in metrics and files."""
    run = SHORT + ["train.steps=60", "checkpoint.every=3"]
    j.run(2, ["--out", j.out("behind")] + run, texts=["steps waited .* for it"])
    j.run(2, ["--out", j.out("between"), "checkpoint.asynchronous=false"] + run)
    j.run(2, ["--out", j.out("collective"), "checkpoint.io=collective", "checkpoint.keep_every=30"] + run)
    j.run(2, ["--out", j.out("independent"), "checkpoint.io=independent"] + run)
    for name in ("between", "collective", "independent"):
        j.same_metrics("behind", name)
        j.same_tensors("behind", name)
    j.require_files("collective", ["checkpoints/step-000030.h5"])


def evaluating(j):
    """SIGTERM to one rank of eval: 75 at the next batch, of which there are many."""
    run = ["--out", j.out("run"), "plan.tp=2", "data.split=0.5", "model.hidden=256", "search.batch=[2]", "train.eval_every=0",
           "train.stop_after=3"]
    j.run(2, run)
    job = j.start(2, "eval", run)
    seen = j.await_text(job, "^weights: ")
    os.kill(j.ranks_of(job)[1], signal.SIGTERM)
    rc, text = j.finish(job)
    j.ended(rc, 75, seen + text, ["stopped in the evaluation"], "SIGTERM in eval")


def validating(j):
    """SIGTERM while training validates: cut short, saved, made up by the next start; all has the bits of a run left alone."""
    run = ["train.steps=100000", "train.log_every=1", "plan.tp=2", "data.split=0.5", "train.eval_every=5", "checkpoint.every=0",
           "model.seq=64"]
    job = j.start(2, "train", ["--out", j.out("parts")] + run)
    if j.started(job, "parts", 4):
        os.kill(j.ranks_of(job)[1], signal.SIGTERM)
    rc, stopped = j.finish(job)
    j.ended(rc, 75, stopped, ["stopped=requeue"], "SIGTERM")
    end = [f"train.stop_after={j.last_checkpoint_step('parts') + 7}"]
    text = j.run(2, ["--out", j.out("parts")] + run + end, texts=["stopped=stop_after"])
    cut = re.search(r"validation of step (\d+) was cut short", stopped)
    if cut:
        j.need(text, [f"validation of step {cut.group(1)}, which a stop had cut short"])
    j.run(2, ["--out", j.out("whole")] + run + end)
    j.same_metrics("whole", "parts")
    j.same_tensors("whole", "parts")


def generating(j):
    """SIGUSR1 to one rank of generate changes nothing, there being nothing to save; SIGTERM: 75 at the next id."""
    run = ["--out", j.out("run"), "plan.tp=2"]
    j.run(2, run)
    job = j.start(2, "generate", run + ["--prompt", "The run", "--tokens", "10000000"])
    seen = j.await_text(job, "^weights: ")
    ranks = j.ranks_of(job)
    os.kill(ranks[1], signal.SIGUSR1)
    seen += job.stdout.read(5000)
    os.kill(ranks[1], signal.SIGTERM)
    rc, text = j.finish(job)
    j.ended(rc, 75, seen + text, ["stopped in the text"], "SIGTERM in generate")
    j.once(seen + text, "stopped in the text")


def impatient(j):
    """One rank stands still, so SIGTERM cannot be honoured; a second one 5 s later ends the process without saving."""
    run = ["--out", j.out("run"), "train.steps=100000", "train.eval_every=0", "checkpoint.every=50", "plan.tp=2"]
    job = j.start(2, "train", run)
    if j.started(job, "run", 60):
        ranks = j.ranks_of(job)
        os.kill(ranks[1], signal.SIGSTOP)
        os.kill(ranks[0], signal.SIGTERM)
        os.kill(ranks[0], signal.SIGTERM)  # a batch system's pair: one request
        time.sleep(8)  # what is tested is this time, which begins when the rank hears the first
        if not os.path.exists(f"/proc/{ranks[0]}"):
            j.problems.append("a pair of signals ended the process")
        os.kill(ranks[0], signal.SIGTERM)
    rc, text = j.finish(job)
    if rc in (0, 75):
        j.problems.append(f"exit {rc} after the second SIGTERM:\n{text}")
    last = j.last_checkpoint_step("run")
    j.run(2, run + [f"train.stop_after={last + 5}"], texts=[f"resumed_from={last} "])


def reading(j):
    """The time is over before the data are read: 75, and nothing was begun."""
    j.run(2, ["--out", j.out("run"), "plan.tp=2", "train.walltime=1 ms"], code=75, texts=["stopped while the data were read"])


def selftest(j):
    for ranks in (1, 2, 3):
        j.run(ranks, ["restart", "--out", j.out("here")], verb="selftest", deck=None, texts=["test=restart", "failed=0", "same bits"])
    if os.listdir(j.out("here")):
        j.problems.append(f"selftest left {os.listdir(j.out('here'))}")
    j.run(1, ["nothing"], verb="selftest", deck=None, code=2, texts=["there is .*restart"])


CASES = {"requeued": requeued, "behind_steps": behind_steps, "evaluating": evaluating, "validating": validating, "generating": generating,
         "impatient": impatient, "reading": reading, "selftest": selftest}


if __name__ == "__main__":
    main(CASES)
