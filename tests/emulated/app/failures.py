#!/usr/bin/env python3
"""What breaks between nodes while they train: a cable, the disk that they share. And what they do not share: their data.

Usage: failures.py CASE PROGRAM. Ends with 77 where nodes cannot be emulated, saying why, with 1 when something is wrong, else
with 0.
"""
import glob
import json
import os
import re
import sys
import time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from emulated_cluster import EmulatedCluster, Unavailable, skip  # noqa: E402
from program import tested  # noqa: E402

DISK_MIB = {"local_data": 160}  # else 16
PATIENCE = 180  # seconds until a job is given up: a bound for what hangs, not for what is slow
RUN = ["inputs/tiny/gpt.toml", "plan.tp=2", "train.steps=1000000", "train.eval_every=0", "train.log_every=1", "checkpoint.every=5",
       "run.trace=0"]
# By itself Open MPI does not notice that a node has fallen silent (docs/running.md).
NOTICES = {"oob_tcp_keepalive_time": "5", "oob_tcp_keepalive_intvl": "1", "oob_tcp_keepalive_probes": "3"}


class Run:
    """A run of the program on all ranks of a cluster, in a folder on the disk that its nodes share."""

    def __init__(self, cluster, program, problems):
        self.cluster, self.program, self.problems = cluster, program, problems
        self.folder = cluster.disk() + "/run"

    def start(self, words=()):
        return self.cluster.start([self.program, "train", *RUN, *words, "--out", self.folder], PATIENCE, settings=NOTICES)

    def ended(self, job, codes, texts):
        text = job.communicate()[0]
        if job.returncode not in codes:
            self.problems.append(f"exit {job.returncode}, expected one of {codes}\n{text}")
        self.problems += [f"'{what}' is missing in:\n{text}" for what in texts if not re.search(what, text)]
        return text

    def file(self, *parts):
        return self.cluster.outside("/".join([self.folder, *parts]))

    def lines(self, name):
        if not os.path.exists(self.file(name)):
            return []
        with open(self.file(name), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("}\n")]

    def step(self):
        return max((line["step"] for line in self.lines("metrics.jsonl")), default=0)

    def saved(self):
        files = glob.glob(self.file("checkpoints", "step-*.h5"))
        return max((int(re.search(r"step-(\d+)", file).group(1)) for file in files), default=0)

    def events(self, kind):
        return [line["step"] for line in self.lines("events.jsonl") if line.get("event") == kind]

    def until(self, job, holds, what):
        end = time.monotonic() + PATIENCE
        while not holds():
            if job.poll() is not None or time.monotonic() > end:
                self.problems.append(f"{what}: never")
                return False
            time.sleep(0.1)
        return True

    def await_texts(self, job, *patterns):
        """Reads the job's output until each pattern was in a line."""
        seen, missing = "", list(patterns)
        for line in job.stdout:
            seen += line
            missing = [pattern for pattern in missing if not re.search(pattern, line)]
            if not missing:
                return
        self.problems.append(f"{missing} never came in:\n{seen}")

    def stop(self):
        open(self.file("STOP"), "w", encoding="ascii").close()


def link_cut(run):
    """A cable is out for good: the job ends soon with the launcher's code, and the same command goes on."""
    job = run.start()
    if run.until(job, lambda: run.saved() and run.step() > run.saved(), "a checkpoint and a step behind it"):
        run.cluster.cut(1)
        begin = time.monotonic()
        run.ended(job, [205], ["lost communication with a remote daemon"])
        if time.monotonic() - begin > PATIENCE / 2:
            run.problems.append(f"the job ended {time.monotonic() - begin:.0f} s after the cable was out")
    run.cluster.heal(1)
    last = run.saved()
    job = run.start()
    if run.until(job, lambda: run.step() > last + 5, f"steps beyond {last}"):
        run.stop()
    run.ended(job, [0], [rf"resumed_from={last} ", "stopped=user"])


def disk_full(run):
    """The disk is full for a while: the run goes on without checkpoints, says so, saves again once there is room, and its
    metrics lack no step."""
    job = run.start()
    if not run.until(job, lambda: run.saved() and run.step() > run.saved(), "a checkpoint and a step behind it"):
        return
    kept, filler = run.saved(), run.cluster.fill_disk()
    # Files tell nothing now.
    run.await_texts(job, "lines wait in memory until there is room",
                    r"checkpoint of step \d+ failed, the previous one is kept: .*[Nn]o space")
    run.await_texts(job, r"step +\d+/")
    if not os.path.exists(run.file("checkpoints", f"step-{kept:06d}.h5")) and run.saved() <= kept:
        run.problems.append("the older checkpoint is gone")
    os.remove(filler)
    last = run.step()
    run.until(job, lambda: run.saved() > last and run.step() > last, "a checkpoint once there is room")
    run.stop()
    run.ended(job, [0], ["stopped=user"])
    steps = [line["step"] for line in run.lines("metrics.jsonl")]
    if steps != list(range(1, len(steps) + 1)):
        gap = next(i for i, step in enumerate(steps) if step != i + 1)
        run.problems.append(f"metrics.jsonl: step {steps[gap]} follows {steps[gap - 1]}")


def read_only(run):
    """A disk that became one to read only: the next job says so once, before it does anything."""
    run.ended(run.start(["train.stop_after=5"]), [0], ["steps=5 "])
    run.cluster.close_disk()
    text = run.ended(run.start(["train.stop_after=10"]), [3], [r"the run folder \S+ cannot be used: .*Read-only file system"])
    if text.count("Read-only") != 1:
        run.problems.append(f"said more than once:\n{text}")


def local_data(run):
    """Each node has a large text of its own: packed once per node, used again by the next run. A node that has lost its
    copy shares what is packed into the run folder."""
    folders = [f"/proc/{node.pid}/root/dev/shm/text" for node in run.cluster.nodes]
    line = b"A line of a text that is large enough to be packed, number %d.\n"
    text = b"".join(line % number for number in range(2000)) * 560
    for folder in folders:
        os.mkdir(folder)
        with open(folder + "/large.txt", "wb") as file:
            file.write(text)

    def packed(folder):
        return [name for name in os.listdir(folder) if name.startswith(".galvatron")] if os.path.exists(folder) else []

    def play(step, texts):
        run.ended(run.start([f"train.stop_after={step}", 'data.train=["/dev/shm/text/*.txt"]', "data.split=0.001"]), [0],
                  [f"steps={step} ", *texts])

    play(2, [r"packed text: /dev/shm/text/\.galvatron\S+ \(made now\)"])
    names = [packed(folder) for folder in folders]
    if len(names[0]) != 1 or names[0] != names[1]:
        run.problems.append(f"the nodes hold {names}, expected one packed text each")
    play(4, [r"packed text: /dev/shm/text/\S+ \(used again\)", "resumed_from=2 "])
    for name in os.listdir(folders[1]):
        os.remove(os.path.join(folders[1], name))
    play(6, [r"packed text: \S+ \(made now\)", "resumed_from=4 "])
    if packed(run.file("index")) != names[0]:
        run.problems.append(f"the run folder holds {packed(run.file('index'))}, expected {names[0]}")
    play(8, [r"packed text: \S+ \(used again\)", "resumed_from=6 "])


CASES = {"link_cut": link_cut, "disk_full": disk_full, "read_only": read_only, "local_data": local_data}


def main():
    case, program = sys.argv[1:]
    os.chdir(SOURCE)
    problems = []
    try:
        with EmulatedCluster([2, 2], 1000, DISK_MIB.get(case, 16)) as cluster:
            CASES[case](Run(cluster, tested(program), problems))
    except Unavailable as reason:
        skip(reason)
    for problem in problems:
        print(f"{case}: {problem}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
