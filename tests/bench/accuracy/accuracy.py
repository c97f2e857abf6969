#!/usr/bin/env python3
"""Is what a plan is predicted to take what it takes? Time, memory, and the choice that is made of them.

    accuracy.py BUILD_FOLDER [--items real memory regret paced] [--ranks 1 2] [--paced 4 8 16] [--rounds 3]

real    plans by hand on as many ranks as cores: in every round the machine is profiled and all plans are played; of each
        plan the median over the rounds of predicted over measured counts, so that slow changes of load cancel out.
memory  the same runs, and some on four ranks: predicted bytes of the fullest process against its peak.
regret  the plan that the search chooses, without and with trials, beside the five best plans by hand, taking turns.
paced   kernels that sleep, real messages, many ranks: schedules, overlap, transfers; planned bytes exact.

Each item ends with a line "RESULT bench=accuracy item=…"; `floor` is what repetitions of one plan differ by.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
from played import ENVIRONMENT, Failed, Program, quantile, rank_correlation, spread  # noqa: E402

MODEL = ["model.layers=4", "model.hidden=256", "model.heads=8", "model.ffn=1024", "model.seq=128", "search.batch=[8]"]
STEPS = 8


def plans_of(ranks):
    """Name → [plan] by hand, each legal for the model of this bench."""
    def plan(micros, **keys):
        return [f"plan.{key}={value}" for key, value in keys.items()] + [f"plan.microbatches={micros}"]
    plans = {}
    for micros in (1, 2, 4, 8):
        if 8 // micros >= ranks:
            plans[f"dp m{micros}"] = plan(micros, pp=1)
            plans[f"recompute m{micros}"] = plan(micros, pp=1, recompute="true")
    if ranks == 1:
        return plans
    for zero in (1, 2, 3):
        plans[f"zero{zero} m2"] = plan(2, zero=zero)
    for axis in ("tp", "sp", "cp"):
        plans[f"{axis}{ranks} m2"] = plan(2, **{axis: ranks})
    for micros in (2, 4, 8):
        plans[f"pp{ranks} m{micros}"] = plan(micros, pp=ranks)
    if ranks >= 4:
        plans["pp2 tp2 m4"] = plan(4, pp=2, tp=2)
        plans["tp2 zero3 m2"] = plan(2, tp=2, zero=3)
    return plans


class Rounds:
    """Every plan once a round, each round with a profile of its own."""

    def __init__(self, options, ranks, folder):
        self.options, self.ranks = options, ranks
        self.program = Program(options.build / "galvatron", ROOT / "inputs/quickstart.toml", ranks, folder,
                               MODEL + [f"train.steps={STEPS}"])
        self.played = {}

    def profile(self, number):
        self.program.play("profile", f"profile{number}", [f"profile.budget={self.options.budget}", "profile.reuse=false"])
        return self.program.path(f"profile{number}", "profile.h5")

    def play(self, plans, rounds):
        for number in range(rounds):
            profile = self.profile(number)
            for name, settings in plans.items():
                self.one(name, settings + [f"profile.file={profile}"])
            print(f"  round {number + 1} of {rounds} on {self.ranks} ranks, load {os.getloadavg()[0]:.1f}", flush=True)
        return self

    def one(self, name, settings):
        try:
            self.played.setdefault(name, []).append(self.program.play("run", "run", settings))
        except Failed as failure:
            print(failure, file=sys.stderr)

    def figures(self, key):
        return {name: [run[key] for run in runs] for name, runs in self.played.items()}


def real(options, ranks, rounds):
    measured, predicted = rounds.figures("step_s"), rounds.figures("predicted_step_s")
    ratio = {name: statistics.median(p / m for p, m in zip(predicted[name], measured[name])) for name in measured}
    # What a plan differs by from round to round, beside all the others.
    count = min(len(runs) for runs in measured.values())
    level = [statistics.median(runs[i] for runs in measured.values()) for i in range(count)]
    floor = statistics.mean(spread([runs[i] / level[i] for i in range(count)]) for runs in measured.values())
    for name, value in ratio.items():
        print(f"  {name:14} predicted {1e3 * statistics.median(predicted[name]):8.1f} ms, measured "
              f"{1e3 * statistics.median(measured[name]):8.1f} ms, ratio {value:.3f}")
    errors = [abs(value - 1) for value in ratio.values()]
    order = rank_correlation([statistics.median(predicted[n]) for n in ratio], [statistics.median(measured[n]) for n in ratio])
    # A common factor is the load that changed between profile and runs; what is left is the model's.
    common = statistics.median(ratio.values())
    apart = statistics.mean(abs(value / common - 1) for value in ratio.values())
    print(f"RESULT bench=accuracy item=real ranks={ranks} plans={len(ratio)} rounds={count} "
          f"mean_error={statistics.mean(errors):.4f} p95_error={quantile(errors, 0.95):.4f} without_common_factor={apart:.4f} floor={floor:.4f} "
          f"rank_correlation={order:.4f} load={os.getloadavg()[0]:.1f}", flush=True)


def memory(ranks, rounds):
    peaks, predicted = rounds.figures("peak_bytes"), rounds.figures("predicted_peak_bytes")
    errors = {}
    for name in peaks:
        peak, wish = statistics.median(peaks[name]), statistics.median(predicted[name])
        errors[name] = wish / peak - 1
        print(f"  {name:14} predicted {wish / 2**20:8.2f} MiB, peak {peak / 2**20:8.2f} MiB, {100 * errors[name]:+.2f} %")
    print(f"RESULT bench=accuracy item=memory ranks={ranks} plans={len(errors)} "
          f"mean_error={statistics.mean(abs(e) for e in errors.values()):.4f} "
          f"worst_error={max(abs(e) for e in errors.values()):.4f}", flush=True)


def regret(options, ranks, rounds, plans):
    best = sorted(plans, key=lambda name: statistics.median(rounds.figures("step_s").get(name, [1e9])))[:5]
    profile = rounds.profile("regret")
    chosen = {}
    for trials in (0, 3):
        name = f"chosen, {trials} trials"
        rounds.program.play("run", f"search{trials}", [f"profile.file={profile}", f"search.trials={trials}"])
        chosen[name] = [f"plan.file={rounds.program.path(f'search{trials}', 'plan.toml')}", f"profile.file={profile}"]
    contenders = {name: plans[name] + [f"profile.file={profile}"] for name in best} | chosen
    times = {name: [] for name in contenders}
    for _ in range(options.regret_rounds):
        for name, settings in contenders.items():
            times[name].append(rounds.program.play("run", "run", settings)["step_s"])
    for name, values in times.items():
        print(f"  {name:18} {1e3 * statistics.median(values):8.1f} ms")
    # Ratios inside a round: the load of the minute cancels out.
    results = {trials: max(statistics.median(a / b for a, b in zip(times[f"chosen, {trials} trials"], times[other]))
                           for other in best) for trials in (0, 3)}
    floor = statistics.mean(spread([a / b for a, b in zip(times[name], times[best[0]])]) for name in best[1:])
    print(f"RESULT bench=accuracy item=regret ranks={ranks} without_trials={results[0]:.3f} with_trials={results[3]:.3f} "
          f"floor={floor:.4f} load={os.getloadavg()[0]:.1f}", flush=True)


def paced(options):
    for ranks in options.paced:
        print(f"paced, {ranks} ranks, load {os.getloadavg()[0]:.1f}", flush=True)
        subprocess.run(["timeout", "-k", "5", "580", "mpirun", "-n", str(ranks), "--bind-to", "none",
                        options.build / "tests/bench/accuracy/bench_measure_accuracy_paced", str(options.rounds)],
                       env=os.environ | ENVIRONMENT, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--items", nargs="+", default=["real", "memory", "regret", "paced"])
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--paced", type=int, nargs="+", default=[4, 8, 16])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--regret-rounds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=20, help="seconds of each profile")
    options = parser.parse_args()
    options.build = options.build.resolve()
    wanted = set(options.items)
    with tempfile.TemporaryDirectory(prefix="galvatron-accuracy-") as folder:
        for ranks in options.ranks if wanted & {"real", "memory", "regret"} else []:
            plans = plans_of(ranks)
            rounds = Rounds(options, ranks, Path(folder) / f"ranks{ranks}").play(plans, options.rounds)
            if "real" in wanted:
                real(options, ranks, rounds)
            if "memory" in wanted:
                memory(ranks, rounds)
            if "regret" in wanted:
                regret(options, ranks, rounds, plans)
        if "memory" in wanted:
            memory(4, Rounds(options, 4, Path(folder) / "ranks4").play(plans_of(4), 1))
    if "paced" in wanted:
        paced(options)


if __name__ == "__main__":
    main()
