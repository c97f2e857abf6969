"""Short training runs of the real program, for benchmarks that compare plans: plays one and reads its RESULT line.

On a machine that is not idle times mean something only beside others of the same minute, so callers let plans take turns.
"""
import math
import os
import re
import statistics
import subprocess

ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMP_NUM_THREADS": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
QUIET = ["data.format=synthetic", "checkpoint.every=0", "train.eval_every=0", "train.resume=never", "run.trace=0"]


class Failed(Exception):
    """The program ended with another exit code than 0."""


def on_this_host(command, ranks, timeout):
    done = subprocess.run(["timeout", "-k", "5", str(timeout), "mpirun", "-n", str(ranks), "--bind-to", "none"] + command,
                          env=os.environ | ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


class Program:
    """The program on one deck and so many ranks. `launch(command, ranks, timeout)` gives exit code and output."""

    def __init__(self, program, deck, ranks, folder, settings, launch=on_this_host):
        self.program, self.deck, self.ranks, self.folder = str(program), str(deck), ranks, str(folder)
        self.settings, self.launch = settings, launch

    def play(self, verb, name, settings, timeout=240):
        """The values of the RESULT line, numbers as such; `said` is all that was printed."""
        command = [self.program, verb, self.deck, "--overwrite", "--out", os.path.join(self.folder, name)]
        code, text = self.launch(command + QUIET + self.settings + settings, self.ranks, timeout)
        line = re.search(r"^RESULT (.*)$", text, re.MULTILINE)
        if code != 0 or not line:
            raise Failed(f"{verb} {' '.join(settings)} on {self.ranks} ranks: exit {code}\n{text[-1500:]}")
        values = {"said": text}
        for word in line.group(1).split():
            key, _, value = word.partition("=")
            try:
                values[key] = float(value)
            except ValueError:
                values[key] = value
        return values

    def path(self, *parts):
        return os.path.join(self.folder, *parts)


def spread(values):
    """Half the distance of the quartiles over the median: how far a repetition is off by itself."""
    if len(values) < 3:
        return (max(values) - min(values)) / 2 / statistics.median(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2 / statistics.median(values)


def quantile(values, share):
    """By nearest rank."""
    return sorted(values)[max(math.ceil(share * len(values)), 1) - 1]


def rank_correlation(a, b):
    """Spearman's."""
    def places(values):
        return [sum(other < value for other in values) + (sum(other == value for other in values) - 1) / 2 for value in values]
    return statistics.correlation(places(a), places(b)) if len(a) > 1 else float("nan")
