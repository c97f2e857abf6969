#!/usr/bin/env python3
"""Training steps of the GPT-2 124M shape, 4 samples: this program and PyTorch in turn, ratio of medians.

    train_step.py BUILD_FOLDER [--pytorch PYTHON] [--rounds 3] [--steps 2] [--seq 256 1024] [--precision fp32 bf16]

Each round plays, one after the other, this program on one rank with two threads, on two ranks with one thread (dp = 2,
ZeRO-1), and PyTorch with two threads; on a machine that is not idle they meet the same neighbours. The ratio of wall
times is what counts; the ratio of processor times beside it shows what a busy machine hides. PYTHON is the interpreter
that tests/support/pytorch_venv.sh prints; without it the comparison reads `na`.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--pytorch", default=None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--seq", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--precision", nargs="+", default=["fp32", "bf16"])
    return parser.parse_args()


def last_json(command, environment=None):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=1800,
                          env=os.environ | (environment or {}))
    if done.returncode != 0:
        return None, (done.stderr or done.stdout).strip().splitlines()[-1:]
    lines = done.stdout.rstrip().splitlines()
    return json.loads(lines[-1]), lines[:-1]


def ours(options, seq, precision, ranks, threads):
    program = options.build / "tests/bench/train_step/bench_app_train_step"
    deck = ROOT / "inputs/gpt/gpt2-124m.toml"
    return last_json(["mpirun", "-n", ranks, "--bind-to", "none", program, options.steps, deck, "search.batch=[4]",
                      f"model.seq={seq}", f"train.precision={precision}", f"run.threads={threads}", "plan.pp=1",
                      "plan.zero=1", "plan.microbatches=1"], ENVIRONMENT)


def pytorch(options, seq, precision):
    if options.pytorch is None:
        return None, ["no PyTorch named"]
    return last_json([options.pytorch, ROOT / "tests/bench/pytorch_step.py", "--seq", seq, "--precision", precision,
                      "--threads", 2, "--steps", options.steps])


def play(options, seq, precision):
    """Medians over the rounds: name → figure → value."""
    contenders = {"1 rank x 2 threads": lambda: ours(options, seq, precision, 1, 2),
                  "2 ranks x 1 thread": lambda: ours(options, seq, precision, 2, 1),
                  "pytorch x 2 threads": lambda: pytorch(options, seq, precision)}
    runs = {name: [] for name in contenders}
    for number in range(options.rounds):
        for name, run in contenders.items():
            load = os.getloadavg()[0]
            figures, said = run()
            if figures is None:
                print(f"{name}, seq {seq}, {precision}: not played: {' '.join(said)}", flush=True)
                continue
            runs[name].append(figures)
            print(f"round {number + 1}, seq {seq}, {precision}, {name} (load {load:.1f} before):", flush=True)
            print("\n".join(said), flush=True)
    return {name: {key: statistics.median(run[key] for run in list_of) for key in list_of[0]
                   if isinstance(list_of[0][key], (int, float))} for name, list_of in runs.items() if list_of}


def ratio(medians, key, over, under):
    if over not in medians or under not in medians:
        return None
    return medians[over][key] / medians[under][key]


def text_of(value):
    return "na" if value is None else f"{value:.3f}"


def main():
    options = arguments()
    result = {}
    for precision in options.precision:
        for seq in options.seq:
            medians = play(options, seq, precision)
            one, two, torch = "1 rank x 2 threads", "2 ranks x 1 thread", "pytorch x 2 threads"
            for name, figures in medians.items():
                peak = f", {100 * figures['gemm_ratio']:.1f} % of the gemm peak, {figures['allocations']:.0f} allocations" \
                    if "gemm_ratio" in figures else ""
                print(f"median  seq {seq} {precision} {name}: {figures['step_s']:.3f} s, {figures['cpu_s']:.3f} processor s, "
                      f"{figures['tokens_per_s']:.1f} tokens/s{peak}")
            print(f"        seq {seq} {precision}: PyTorch's time over ours {text_of(ratio(medians, 'step_s', torch, one))}, "
                  f"processor time {text_of(ratio(medians, 'cpu_s', torch, one))}", flush=True)
            best = medians.get(one, {})
            suffix = "" if seq == max(options.seq) else f"_s{seq}"
            result[f"{precision}_gemm_ratio{suffix}"] = best.get("gemm_ratio")
            result[f"vs_pytorch_{precision}{suffix}"] = ratio(medians, "step_s", torch, one)
            result[f"tokens_per_s_{precision}{suffix}"] = best.get("tokens_per_s")
            if precision == "fp32":
                result[f"dp2_vs_threads2{suffix}"] = ratio(medians, "tokens_per_s", two, one)
    print("RESULT bench=train_step " + " ".join(f"{key}={text_of(value)}" for key, value in result.items()))
    return 0 if any(value is not None for value in result.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
