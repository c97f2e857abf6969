"""What a journey needs: the program on some ranks, its output and its files, and a list of what was wrong."""
import glob
import html.parser
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))
from program import tested  # noqa: E402

DECK = "inputs/tiny/gpt.toml"


class Page(html.parser.HTMLParser):
    """Which elements a page leaves open, and what it would fetch."""

    def __init__(self):
        super().__init__()
        self.open, self.wrong = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)
        self.wrong += [f"<{tag}> fetches {value}" for key, value in attrs
                       if key == "src" or (key == "href" and not value.startswith("#"))]
        if tag in ("script", "link", "iframe", "object", "embed"):
            self.wrong.append(f"<{tag}>")

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes something else, at {self.getpos()}")

    def faults(self):
        return self.wrong[:3] + ([f"<{tag}> is left open" for tag in self.open[:3]])


class Journey:
    def __init__(self, program, mpiexec, folder):
        self.program, self.mpiexec, self.folder = program, mpiexec, folder
        self.problems = []

    # Playing the program

    def out(self, name):
        return os.path.join(self.folder, name)

    def command(self, ranks, verb, words, deck=DECK):
        launch = [self.mpiexec, "--bind-to", "none", "-n", str(ranks)] if ranks > 1 else []
        return launch + [self.program, verb] + ([deck] if deck else []) + words

    def start(self, ranks, verb, words, deck=DECK):
        return subprocess.Popen(self.command(ranks, verb, words, deck), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, errors="backslashreplace", start_new_session=True)

    def finish(self, job, seconds=150):
        """How the job ends. The bound is for jobs that hang: a machine with other work is slow, and that is no fault."""
        try:
            text, _ = job.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            text, _ = job.communicate()
            self.problems.append(f"still running after {seconds} s:\n{text}")
        return job.returncode, text

    def run(self, ranks, words, verb="train", code=0, texts=(), deck=DECK):
        """Plays a verb to its end, which must have this exit code and all of these patterns in its output."""
        rc, text = self.finish(self.start(ranks, verb, words, deck))
        self.ended(rc, code, text, texts, f"{verb} {' '.join(words)} on {ranks} ranks")
        return text

    def ended(self, rc, code, text, texts, what):
        if rc != code:
            self.problems.append(f"{what}: exit {rc}, expected {code}\n{text}")
        self.need(text, list(texts) + [f"RESULT .*exit={code}"])

    def need(self, text, wanted):
        for what in wanted:
            if not re.search(what, text):
                self.problems.append(f"'{what}' is missing in:\n{text}")

    def once(self, text, what):
        if text.count(what) != 1:
            self.problems.append(f"'{what}' is there {text.count(what)} times, not once, in:\n{text}")

    # Watching a job that runs

    def await_that(self, job, holds, what):
        """Waits until something holds, while the job runs."""
        end = time.monotonic() + 150
        while not holds():
            if job.poll() is not None or time.monotonic() > end:
                self.problems.append(f"{what}: never")
                return False
            time.sleep(0.05)
        return True

    def run_limited(self, ranks, words, holds, texts, verb="train"):
        """Plays a verb with a time limit, which is doubled until it leaves enough for something to hold at the end; all
        attempts end with 75, the last one with these patterns."""
        limit = 2
        while True:
            rc, text = self.finish(self.start(ranks, verb, words + [f"train.walltime={limit} s"]))
            if holds() or rc != 75 or limit > 60:
                return self.ended(rc, 75, text, texts, f"{verb} with a limit of {limit} s")
            limit *= 2

    def started(self, job, name, step):
        return self.await_that(job, lambda: self.last_step(name) >= step, f"step {step} in metrics.jsonl")

    def await_text(self, job, pattern):
        """Reads the job's output until a line holds the pattern; what was read."""
        seen = ""
        for line in job.stdout:
            seen += line
            if re.search(pattern, line):
                return seen
        self.problems.append(f"'{pattern}' never came in:\n{seen}")
        return seen

    def ranks_of(self, job):
        """Process ids of the job's ranks."""
        listed = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(job.pid)], capture_output=True, text=True)
        return [int(line.split()[0]) for line in listed.stdout.splitlines() if self.program in line]

    # The run folder

    def file(self, name, *parts):
        return os.path.join(self.out(name), *parts)

    def require_files(self, name, files):
        for file in files:
            if not os.path.exists(self.file(name, file)):
                self.problems.append(f"{file} is missing in the run folder, which holds {os.listdir(self.out(name))}")

    def reported(self, name, texts=()):
        """report.html is there, whole, needs nothing else, and says these things."""
        self.require_files(name, ["report.html"])
        with open(self.file(name, "report.html"), encoding="utf-8") as file:
            page = file.read()
        self.need(page, list(texts) + ["^<!DOCTYPE html>", "</html>\n$"])
        parser = Page()
        parser.feed(page)
        self.problems += [f"report.html: {fault}" for fault in parser.faults()]

    def traced(self, name, ranks, steps):
        """trace.json shows so many steps of every rank."""
        with open(self.file(name, "trace.json"), encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        for rank in range(ranks):
            seen = [e for e in events if e["ph"] == "X" and e["pid"] == rank and e["name"].startswith("step ")]
            if len(seen) != steps:
                self.problems.append(f"trace.json has {len(seen)} steps of rank {rank}, expected {steps}")

    def read_with_h5py(self, name):
        """An independent reader finds in the profile and the last checkpoint what docs/files.md says."""
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "read_with_h5py.py")
        able = [python for python in (sys.executable, "/usr/bin/python3")
                if subprocess.run([python, "-c", "import h5py"], capture_output=True).returncode == 0]
        if not able:
            print("no python here has h5py, so it was not tried")
            return
        read = subprocess.run([able[0], script, self.file(name, "profile.h5"), self.checkpoints(name)[-1]],
                              capture_output=True, text=True)
        if read.returncode != 0:
            self.problems.append(f"h5py: {read.stdout}{read.stderr}")

    def checkpoints(self, name):
        return sorted(glob.glob(self.file(name, "checkpoints", "step-*.h5")))

    def last_checkpoint_step(self, name):
        files = self.checkpoints(name)
        return int(re.search(r"step-(\d+)\.h5$", files[-1]).group(1)) if files else 0

    def last_step(self, name):
        path = self.file(name, "metrics.jsonl")
        if not os.path.exists(path):
            return 0
        with open(path) as lines:
            whole = [line for line in lines if line.endswith("}\n")]
        return json.loads(whole[-1])["step"] if whole else 0

    def metrics(self, name):
        """Per step what must be the same in every repetition, bit for bit."""
        exact = ("loss_hex", "grad_norm_hex", "valid_loss_hex", "lr")
        with open(self.file(name, "metrics.jsonl")) as lines:
            rows = [json.loads(line) for line in lines]
        return {row["step"]: {key: row[key] for key in exact if key in row} for row in rows}

    def same_metrics(self, a, b):
        left, right = self.metrics(a), self.metrics(b)
        if not left or left != right:
            steps = [s for s in sorted(set(left) | set(right)) if left.get(s) != right.get(s)] or ["none"]
            self.problems.append(f"metrics of {a} and {b} differ first at step {steps[0]}: "
                                 f"{left.get(steps[0])} and {right.get(steps[0])}")

    def same_tensors(self, a, b):
        """The last checkpoints hold the same numbers, as an independent reader sees them."""
        files = [self.checkpoints(name)[-1] for name in (a, b)]
        for group in ("/model", "/optimizer"):
            compared = subprocess.run(["h5diff"] + files + [group, group], capture_output=True, text=True)
            if compared.returncode != 0:
                self.problems.append(f"h5diff of {files} in {group}: {compared.stdout[-600:]}{compared.stderr[-600:]}")


def main(cases):
    """Plays the case that the command line names, CASE PROGRAM MPIEXEC, in the source folder; ends the script."""
    case, program, mpiexec = sys.argv[1:]
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
    folder = tempfile.mkdtemp(prefix="galvatron-journey-")
    journey = Journey(tested(program), mpiexec, folder)
    try:
        cases[case](journey)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for problem in journey.problems:
        print(f"{case}: {problem}")
    sys.exit(1 if journey.problems else 0)
