#!/usr/bin/env python3
"""SIGKILL at random moments of checkpoint writes: the run is always taken up again from its newest file, never from a
damaged one, and what it ends with has the bits of a run that nobody killed.

Usage: kills.py NUMBER PROGRAM MPIEXEC. Each of NUMBER attempts goes on from what the one before left, saves after every
step, and is killed a random time after it has begun to: all processes at once, or one rank. GALVATRON_TEST_SEED makes
other moments.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from journey import Journey, tested

DECK = ["train.steps=1000000", "train.warmup=10", "train.eval_every=0", "train.log_every=1", "checkpoint.every=1", "checkpoint.keep=3",
        "plan.tp=2", "model.hidden=128", "run.trace=0"]


def resumed_from(journey):
    """Step and file name of the last resume that the run folder tells of."""
    path = journey.file("run", "events.jsonl")
    found = None
    if os.path.exists(path):
        with open(path) as lines:
            for line in lines:
                if line.endswith("}\n") and '"resume"' in line:
                    found = json.loads(line)["step"]
    return found


def attempts_in(journey):
    path = journey.file("run", "events.jsonl")
    if not os.path.exists(path):
        return 0
    with open(path) as lines:
        return sum('"training"' in line for line in lines)


def under_way(journey):
    return any(name.startswith("step-") and name.endswith(".tmp") for name in os.listdir(journey.file("run", "checkpoints")))


def kill(ranks, job, draw):
    """The ranks are in process groups of their own. One that has ended meanwhile is no one's loss."""
    victims = ranks + [job.pid] if draw.random() < 0.5 else [draw.choice(ranks)]
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def attempt(journey, number, draw):
    """One start, one kill; returns whether it met a save under way."""
    before = journey.last_checkpoint_step("run")
    known = attempts_in(journey)
    job = journey.start(2, "train", ["--out", journey.out("run")] + DECK + [f"checkpoint.asynchronous={'true' if number % 2 else 'false'}"])
    begun = journey.await_that(job, lambda: attempts_in(journey) > known, f"attempt {number} trains")
    inside = False
    if begun:
        ranks = journey.ranks_of(job)
        if number == 0:  # on a busy machine no later attempt may come to the end of a save
            journey.await_that(job, lambda: journey.last_checkpoint_step("run") > 0, "a first checkpoint")
        newest = journey.last_checkpoint_step("run")
        journey.await_that(job, lambda: under_way(journey) or journey.last_checkpoint_step("run") > newest, f"attempt {number} saves")
        time.sleep(draw.random() * 0.2)
        kill(ranks, job, draw)
        inside = under_way(journey)
    rc, text = journey.finish(job)
    if not begun:
        journey.problems.append(text)
    if begun and rc == 0:
        journey.problems.append(f"attempt {number}: exit 0 after a kill\n{text}")
    for word in ("damaged", "cut or grew", "magic"):
        if word in text:
            journey.problems.append(f"attempt {number}: '{word}' in\n{text}")
    if before and begun and resumed_from(journey) != before:
        journey.problems.append(f"attempt {number} went on from step {resumed_from(journey)}, the newest file was of {before}\n{text}")
    return inside


def main():
    number, program, mpiexec = int(sys.argv[1]), tested(sys.argv[2]), sys.argv[3]
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
    seed = int(os.environ.get("GALVATRON_TEST_SEED", "1"))
    draw = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="galvatron-kills-")
    journey = Journey(program, mpiexec, folder)
    inside = 0
    try:
        for i in range(number):
            inside += attempt(journey, i, draw)
            if journey.problems:
                break
        last = journey.last_checkpoint_step("run")
        if not last:
            journey.problems.append("no attempt ever saved")
        for file in journey.checkpoints("run"):
            shown = subprocess.run([program, "show", file], capture_output=True, text=True)
            if shown.returncode != 0 or "every block verified" not in shown.stdout:
                journey.problems.append(f"show {file}: exit {shown.returncode}\n{shown.stdout[-400:]}{shown.stderr[-400:]}")
        if not journey.problems:
            stop = [f"train.stop_after={last + 2}"]
            journey.run(2, ["--out", journey.out("run")] + DECK + stop, texts=[f"resumed_from={last} "])
            journey.run(2, ["--out", journey.out("whole")] + DECK + stop)
            journey.same_metrics("run", "whole")
            journey.same_tensors("run", "whole")
        print(f"GALVATRON_TEST_SEED={seed}: {number} kills, {inside} of them inside a save, {last} steps saved")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for problem in journey.problems:
        print(problem)
    sys.exit(1 if journey.problems else 0)


if __name__ == "__main__":
    main()
