#!/usr/bin/env python3
"""The job scripts on a real Slurm of two nodes: submitted, stopped, lost, queued again.

Usage: jobs.py CASE PROGRAM. Ends with 77 where Slurm cannot be started, saying why, with 1 when something is wrong, else
with 0.
"""
import glob
import json
import os
import re
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
from emulated_cluster import Unavailable, skip  # noqa: E402
from program import tested  # noqa: E402
from slurm_cluster import SlurmCluster  # noqa: E402

DECK = "inputs/tiny/gpt.toml"
NODES = ["-N2", "--ntasks-per-node=2", "--time=10"]
ONE_NODE = ["-N1", "--ntasks-per-node=2", "--time=10"]
QUICK = ["profile.budget=1", "search.trials=0"]
# One plan for all, so that a run can be compared with another one bit for bit.
PLAN = ["plan.tp=2", "train.eval_every=0"]
LONG = PLAN + ["train.steps=1000000", "checkpoint.every=0"]
# Seconds that anything may take on a machine that has other work: a bound for what hangs, not for what is slow.
WAIT = 400

DISK_MIB = 32  # of a disk that a case may fill


class Jobs:
    def __init__(self, slurm, folder, program):
        self.slurm, self.folder, self.program = slurm, folder, program
        self.problems = []

    def out(self, name):
        return os.path.join(self.folder, name)

    def seen(self, name):
        """A run folder as this program sees it: the small disk is the nodes' own."""
        path = self.out(name)
        return self.slurm.outside(path) if path.startswith(self.slurm.disk() + "/") else path

    def submit(self, script, words, options=NODES, more=None):
        settings = dict({"GALVATRON": self.program}, **(more or {}))
        return self.slurm.sbatch([f"jobscripts/slurm/{script}.sbatch", *words], options, settings)

    def ended(self, job, state, code, texts, seconds=WAIT):
        end = self.slurm.wait(job, seconds)
        if (end.state, end.code) != (state, code):
            self.problems.append(f"job {job}: {end.state}, exit code {end.code}, expected {state}, {code}\n{end.text}")
        for what in texts:
            if not re.search(what, end.text):
                self.problems.append(f"'{what}' is missing in:\n{end.text}")
        return end.text

    def play(self, script, words, texts, state="COMPLETED", code=0, **how):
        return self.ended(self.submit(script, words, **how), state, code, texts)

    def require(self, name, files):
        for file in files:
            if not glob.glob(os.path.join(self.seen(name), file)):
                self.problems.append(f"{file} is missing in {name}, which holds {glob.glob(self.seen(name) + '/*')}")

    def steps(self, name):
        """What must be the same in every repetition, of each step that was logged."""
        path = os.path.join(self.seen(name), "metrics.jsonl")
        if not os.path.exists(path):
            return {}
        with open(path, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file if line.endswith("}\n")]
        return {row["step"]: (row["loss_hex"], row["grad_norm_hex"]) for row in rows}

    def same(self, a, b):
        left, right = self.steps(a), self.steps(b)
        differing = [s for s in sorted(set(left) | set(right)) if left.get(s) != right.get(s)]
        if not left or differing:
            self.problems.append(f"metrics of {a} and {b} differ at steps {differing[:5]} of {len(left)}")

    def await_step(self, name, step, seconds=WAIT):
        self.slurm.until(lambda: max(self.steps(name), default=0) >= step, seconds, f"step {step} of {name}")

    def await_checkpoint(self, name, seconds=WAIT):
        self.slurm.until(lambda: self.checkpoint_steps(name), seconds, f"a checkpoint of {name}")

    def checkpoint_steps(self, name):
        files = glob.glob(os.path.join(self.seen(name), "checkpoints", "step-*.h5"))
        return sorted(int(re.search(r"step-(\d+)", file).group(1)) for file in files)

    def hurry(self, job):
        """A job that is queued again waits two minutes, in which its steps end; this one starts as soon as they have."""
        if self.slurm.states(job) == ["PENDING"] and not self.slurm.steps_of(job):
            self.slurm.command(["scontrol", "update", f"jobid={job}", "starttime=now"], check=False)

    def await_text(self, job, what, seconds=WAIT):
        """Waits for words in the log of a job that is queued again on the way."""
        self.slurm.until(lambda: self.hurry(job) or re.search(what, self.slurm.job_text(job)), seconds,
                         lambda: f"'{what}' does not come from job {job}\n{self.slurm.job_text(job)}")

    def touch_stop(self, name):
        open(os.path.join(self.seen(name), "STOP"), "w", encoding="ascii").close()

    def restarts(self, job):
        return int(self.slurm.facts(job)["Restarts"])


def scripts(j):
    """Profile, search and train by three jobs in one run folder; what one has written the next one takes."""
    words = [DECK, "--out", j.out("run")] + QUICK
    j.play("profile", words, ["4 ranks on node0, node1 ", "RESULT verb=profile .*exit=0"])
    j.require("run", ["profile.h5"])
    j.play("search", words, ["used again", "RESULT verb=search .*exit=0"])
    j.require("run", ["plan.toml"])
    j.play("train", words, ["RESULT verb=train steps=20 .*exit=0"])
    j.require("run", ["checkpoints/step-000020.h5", "report.html"])


def run(j):
    """All phases in one job; the same line again finds nothing to do; a wrong deck ends the job with 2."""
    words = [DECK, "--out", j.out("run")] + QUICK
    j.play("run", words, ["RESULT verb=run steps=20 .*exit=0"], options=ONE_NODE)
    j.play("run", words, ["holds a finished run"], options=ONE_NODE)
    j.play("run", words + ["train.stepz=1"], ["did you mean 'steps'"], "FAILED", 2, options=ONE_NODE)


def sweep(j):
    """Three tasks of an array, each with the words of its line, in folders of their own."""
    job = j.submit("sweep", ["inputs/tiny/sweep.txt", DECK, "--out", j.out("sweep"), "train.steps=8", "plan.pp=1"],
                   options=ONE_NODE + ["--array=1-3"])
    j.ended(job, "COMPLETED", 0, [r"task 1: train.lr=1e-2", r"task 3: train.lr=1e-3"])
    losses = set()
    for task in "123":
        j.require(f"sweep/{task}", ["checkpoints/step-000008.h5"])
        losses.add(j.steps(f"sweep/{task}").get(8))
    if len(losses) != 3:
        j.problems.append(f"three learning rates gave {len(losses)} different losses")
    j.play("sweep", ["inputs/tiny/sweep.txt", DECK], ["has no line 9"], "FAILED", 2, options=ONE_NODE + ["--array=9"])


def stop_by_signal(j, job, name):
    """The ranks of a job that trains save and stop with 75, at a step that no clock decides."""
    j.await_step(name, 10)
    j.slurm.command(["scancel", "--signal=TERM", f"{job}.0"])


def end_chain(j, job, name):
    """Touches STOP until a job has seen it: one that begins takes the file away."""
    j.slurm.until(lambda: j.hurry(job) or j.touch_stop(name) or j.slurm.states(job) == ["COMPLETED"], WAIT,
                  lambda: f"the chain does not end\n{j.slurm.job_text(job)}")


def same_as_whole(j, name, options):
    """What was stopped and gone on with has the bits of a run that was left alone for as many steps."""
    last = j.checkpoint_steps(name)[-1]
    j.play("train", [DECK, "--out", j.out("whole"), f"train.stop_after={last}"] + LONG, [f"steps={last} "], options=options)
    j.same("whole", name)


def chain(j):
    """A run longer than its jobs: it is queued again and goes on, with the bits of one that was never stopped; touching
    STOP ends the chain."""
    job = j.submit("chain", [DECK, "--out", j.out("parts")] + LONG, options=ONE_NODE, more={"GALVATRON_VERB": "train"})
    stop_by_signal(j, job, "parts")
    j.await_text(job, r"queued again at step \d+ \(was 0\), restart 1 of")
    saved = j.checkpoint_steps("parts")[-1]
    j.slurm.until(lambda: j.hurry(job) or max(j.steps("parts"), default=0) > saved, WAIT,
                  lambda: f"no progress beyond step {saved}\n{j.slurm.job_text(job)}")
    end_chain(j, job, "parts")
    j.ended(job, "COMPLETED", 0, [rf"resumed_from={saved} ", "stopped=user"])
    same_as_whole(j, "parts", ONE_NODE)


def chain_refused(j):
    """Where Slurm does not queue a job again, the chain goes on as a new job, with its own end and the count of restarts."""
    job = j.submit("chain", [DECK, "--out", j.out("parts")] + LONG, options=ONE_NODE + ["--no-requeue"],
                   more={"GALVATRON_VERB": "train", "MAX_RESTARTS": "1"})
    stop_by_signal(j, job, "parts")
    text = j.ended(job, "COMPLETED", 0, [r"queued again at step \d+ \(was 0\), restart 1 of at most 1"])
    found = re.search(r"Submitted batch job (\d+)", text)
    if not found:
        j.problems.append(f"no new job was submitted:\n{text}")
        return
    saved, second = j.checkpoint_steps("parts")[-1], int(found.group(1))
    j.slurm.until(lambda: max(j.steps("parts"), default=0) > saved, WAIT,
                  lambda: f"no progress beyond step {saved}\n{j.slurm.job_text(second)}")
    stop_by_signal(j, second, "parts")
    j.ended(second, "FAILED", 75, [rf"resumed_from={saved} ", "stopped=requeue", "not queued again: MAX_RESTARTS=1"])
    same_as_whole(j, "parts", ONE_NODE)


def chain_ends(j):
    """A chain ends at MAX_RESTARTS, and when a job saved nothing new."""
    job = j.submit("chain", [DECK, "--out", j.out("few")] + LONG, more={"MAX_RESTARTS": "0", "GALVATRON_VERB": "train"})
    stop_by_signal(j, job, "few")
    text = j.ended(job, "FAILED", 75, ["not queued again: MAX_RESTARTS=0"])
    step = re.search(r"go on from step (\d+)", text)
    if not step or int(step.group(1)) not in j.checkpoint_steps("few"):
        j.problems.append(f"the step to go on from is not that of a checkpoint:\n{text}")
    words = [DECK, "--out", j.out("none"), "train.walltime=1 ms"]
    j.play("chain", words, ["stopped (in the profile|while the data were read)", "not queued again: the newest checkpoint is still of step 0"],
           "FAILED", 75)


def requeue(j):
    """`scontrol requeue` and `scancel` send SIGTERM: the ranks save, and the run goes on bit for bit."""
    words = [DECK, "--out", j.out("parts")] + LONG
    job = j.submit("train", words)
    j.await_step("parts", 20)
    j.slurm.command(["scontrol", "requeue", str(job)])
    j.slurm.until(lambda: j.restarts(job) == 1 and j.slurm.states(job) == ["PENDING"], WAIT, "the job is not queued again")
    saved = j.checkpoint_steps("parts")
    if not saved:
        j.problems.append("nothing was saved before the job was queued again")
    j.hurry(job)
    j.await_step("parts", saved[-1] + 20)
    j.slurm.command(["scancel", str(job)])
    j.ended(job, "CANCELLED", 75, [f"resumed_from={saved[-1]} ", "stopped=requeue"])
    last = j.checkpoint_steps("parts")[-1]
    if last <= saved[-1]:
        j.problems.append(f"scancel: the newest checkpoint is still of step {last}")
    same_as_whole(j, "parts", NODES)


def signals(j):
    """SIGUSR1 by scancel reaches the ranks, not the script: they save and go on."""
    job = j.submit("train", [DECK, "--out", j.out("run")] + LONG)
    j.await_step("run", 10)
    j.slurm.command(["scancel", "--signal=USR1", str(job)])
    j.await_checkpoint("run")
    j.await_step("run", j.checkpoint_steps("run")[-1] + 10)
    j.touch_stop("run")
    j.ended(job, "COMPLETED", 0, ["stopped=user"])


def killed(j):
    """A rank is killed: the step ends within seconds, and the same line goes on."""
    words = [DECK, "--out", j.out("run")] + LONG + ["checkpoint.every=20"]
    job = j.submit("train", words)
    j.await_checkpoint("run")
    j.slurm.command(["scancel", "--signal=KILL", f"{job}.0"])
    end = j.slurm.wait(job, WAIT)
    if end.state != "FAILED" or end.code == 0:
        j.problems.append(f"ranks killed: {end.state}, exit code {end.code}\n{end.text}")
    last = j.checkpoint_steps("run")[-1]
    j.play("train", words + [f"train.stop_after={last + 5}"], [f"resumed_from={last} "])


def disk_full(j):
    """No room for the last checkpoint of a job that is told to stop: one message, and the one before stays the newest. No room
    at the start of the next: it ends with 3. Once there is room the same line goes on."""
    j.folder = j.slurm.disk()
    words = [DECK, "--out", j.out("run")] + LONG + ["run.trace=0"]
    job = j.submit("train", words)
    j.await_step("run", 10)
    j.slurm.command(["scancel", "--signal=USR1", str(job)])
    j.await_checkpoint("run")
    j.await_step("run", j.checkpoint_steps("run")[-1] + 5)
    filler = j.slurm.fill_disk()
    j.slurm.command(["scancel", "--signal=TERM", f"{job}.0"])
    text = j.ended(job, "FAILED", 75, ["stopped=requeue"])
    told = re.findall(r"checkpoint of step \d+ failed, the previous one is kept: .*no space for ", text)
    if len(told) != 1:
        j.problems.append(f"{len(told)} messages of a failed checkpoint, expected one:\n{text}")
    kept = j.checkpoint_steps("run")
    refused = j.play("train", words, ["galvatron: .*run folder .*[Nn]o space"], "FAILED", 3)
    if len(re.findall("[Nn]o space", refused)) != 1:
        j.problems.append(f"the full disk is not told of once:\n{refused}")
    os.remove(filler)
    if len(kept) != 1 or j.checkpoint_steps("run") != kept:
        j.problems.append(f"checkpoints of steps {kept}, then {j.checkpoint_steps('run')}")
    j.play("train", words + [f"train.stop_after={kept[-1] + 5}"], [f"resumed_from={kept[-1]} "])


def mismatch(j):
    """Without PMI every rank is alone: exit 3, with what to do, from every way to start."""
    j.play("train", [DECK, "--out", j.out("run"), "plan.pp=1"], ["MPI sees 1 rank, but the launcher says SLURM_NTASKS=4",
                                                                "srun --mpi=pmix"], "FAILED", 3,
           more={"GALVATRON_MPI_TYPE": "none"})


def doctor(j):
    """The doctor under srun: two nodes are well; a folder that they do not share, and a single core, are found."""
    def visit(code, texts, words=(), options=(), more=None):
        text = j.slurm.command(["srun", "-N2", "-n4", "--mpi=pmix", *options, "sh", "-c", '"$@"; echo rank ended with $?', "sh",
                                j.program, "doctor", *words], more, check=False)
        for what in [*texts, f"ended with {code}"]:
            if not re.search(what, text):
                j.problems.append(f"'{what}' is missing in:\n{text}")

    unbound = {"OMPI_MCA_hwloc_base_binding_policy": "none"}
    visit(0, ["ok +launch +4 ranks on 2 nodes: node0 2, node1 2", "ok +ring", "ok +folder .*seen by all", "ok +hdf5",
              r"ok +checkpoint +auto .*/s, aggregate .*/s, independent .*/s, collective .*/s; 32.0 MiB written", "failures=0 exit=0"], ["--out", j.folder], more=unbound)
    visit(3, ["FAIL +folder +/dev/shm: rank . on node. does not see the file that node. wrote", "to do: run folders must lie"],
          ["--out", "/dev/shm"], more=unbound)
    visit(3, ["FAIL +binding +all 2 ranks of node0 are on core 0"], ["--out", j.folder],
          options=["taskset", "1"] if os.cpu_count() > 1 else [], more=unbound)
    visit(3, ["FAIL +launch +3 ranks on 2 nodes"], ["--out", j.folder], ["-n3"], unbound)


def time_limit(j):
    """A real time limit: the program knows the end, saves before it and the chain goes on."""
    job = j.submit("chain", [DECK, "--out", j.out("run")] + LONG, options=["-N2", "--ntasks-per-node=2", "--time=1"],
                   more={"GALVATRON_VERB": "train", "MAX_RESTARTS": "1"})
    j.await_text(job, "not queued again", 300)
    text = j.ended(job, "FAILED", 75, [r"queued again at step \d+ \(was 0\)", "MAX_RESTARTS=1 is reached"])
    if text.count("stopped=requeue") != 2:
        j.problems.append(f"expected two attempts that saved:\n{text}")


def preempted(j):
    """A job of a more urgent partition takes the nodes: saved, queued again by Slurm, gone on with."""
    job = j.submit("train", [DECK, "--out", j.out("run")] + LONG)
    j.await_step("run", 20)
    urgent = j.submit("train", [DECK, "--out", j.out("urgent"), "plan.tp=2"], options=NODES + ["-p", "urgent"])
    j.ended(urgent, "COMPLETED", 0, ["steps=20 "])
    saved = j.checkpoint_steps("run")
    if not saved:
        j.problems.append(f"a preempted job saved nothing:\n{j.slurm.job_text(job)}")
        return
    j.hurry(job)
    j.await_step("run", saved[-1] + 10)
    j.touch_stop("run")
    j.ended(job, "COMPLETED", 0, ["goes on|resumed_from=[1-9]", "stopped=user"])


def node_death(j):
    """A node is gone: Slurm notices, queues the job again, and it goes on once the node is back."""
    job = j.submit("train", [DECK, "--out", j.out("run")] + LONG + ["checkpoint.every=20"])
    j.await_checkpoint("run")
    j.slurm.kill_node(1)
    j.slurm.until(lambda: j.restarts(job) == 1, WAIT, lambda: f"the job is not queued again: {j.slurm.facts(job)}")
    saved = j.checkpoint_steps("run")[-1]
    j.slurm.start_node(1)
    j.slurm.until(lambda: j.hurry(job) or max(j.steps("run"), default=0) >= saved + 30, WAIT,
                  lambda: f"no progress after the node was back\n{j.slurm.job_text(job)}")
    j.touch_stop("run")
    j.ended(job, "COMPLETED", 0, [r"resumed_from=[1-9]", "stopped=user"])


def link_cut(j):
    """A cable is out for good: the job is over once Slurm or the watchdog has noticed, and goes on, by itself or by the same
    line, once the node can be reached again."""
    words = [DECK, "--out", j.out("run")] + LONG + ["checkpoint.every=20", "run.watchdog=20"]
    job = j.submit("train", words)
    j.await_checkpoint("run")
    j.slurm.cut(1)
    j.slurm.until(lambda: j.restarts(job) == 1 or not {"RUNNING", "COMPLETING"} & set(j.slurm.states(job)), WAIT,
                  lambda: f"still {j.slurm.states(job)}\n{j.slurm.job_text(job)}")
    saved = j.checkpoint_steps("run")[-1]
    j.slurm.heal(1)
    if j.restarts(job) == 0:
        job = j.submit("train", words)
    j.slurm.until(lambda: j.hurry(job) or max(j.steps("run"), default=0) >= saved + 30, WAIT,
                  lambda: f"no progress after the cable was in again: {j.slurm.facts(job)}\n{j.slurm.job_text(job)}")
    j.touch_stop("run")
    j.ended(job, "COMPLETED", 0, [r"resumed_from=[1-9]", "stopped=user"])


CASES = {name: case for name, case in globals().items()
         if name in ("scripts", "run", "sweep", "chain", "chain_refused", "chain_ends", "requeue", "signals", "killed", "disk_full", "mismatch", "doctor",
                      "time_limit", "preempted", "node_death", "link_cut")}


def main():
    case, program = sys.argv[1:]
    os.chdir(SOURCE)
    try:
        with SlurmCluster(2, DISK_MIB) as slurm, tempfile.TemporaryDirectory(prefix="galvatron-slurm-") as folder:
            jobs = Jobs(slurm, folder, tested(program))
            try:
                CASES[case](jobs)
            except RuntimeError as error:
                jobs.problems.append(str(error))
    except Unavailable as reason:
        skip(reason)
    for problem in jobs.problems:
        print(f"{case}: {problem}")
    sys.exit(1 if jobs.problems else 0)


if __name__ == "__main__":
    main()
