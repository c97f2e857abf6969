#!/usr/bin/env python3
"""Journeys on devices: with the program that has far devices where another has GPUs (tests/support/far_backend.cpp), whose
memory no host code can touch and whose work is done as late as may be; and what a program without devices says.

Usage: device_journeys.py CASE PROGRAM MPIEXEC. Prints what is wrong and ends with 1, or with 0.
"""
import os
import re

from journey import main
from journeys import PLANS

CPU, CUDA = "run.device=cpu", "run.device=cuda"
SHORT = ["train.steps=8", "train.eval_every=4", "checkpoint.every=4"]


def same(j, plan):
    """Every step, evaluation and tensor of a device's training has the CPU's bits."""
    ranks, words = PLANS[plan]
    j.run(ranks, ["--out", j.out("cpu"), CPU] + SHORT + words)
    j.run(ranks, ["--out", j.out("far"), CUDA] + SHORT + words, texts=["device: far"])
    j.same_metrics("cpu", "far")
    j.same_tensors("cpu", "far")


def resumed(j):
    """Left and taken up again on a device, and handed from one to the CPU."""
    ranks, words = PLANS["2dp"]
    j.run(ranks, ["--out", j.out("whole"), CPU] + SHORT + words)
    parts = ["--out", j.out("parts")] + SHORT + words
    j.run(ranks, parts + [CUDA, "train.stop_after=2"], texts=["stopped=stop_after"])
    j.run(ranks, parts + [CUDA, "train.stop_after=5"], texts=["resumed_from=2 "])
    j.run(ranks, parts + [CPU], texts=["resumed_from=5 "])
    j.same_metrics("whole", "parts")
    j.same_tensors("whole", "parts")


def verbs(j):
    """Every verb that has ranks plays on devices: measured, searched, trained, looked at, put to use."""
    run = ["--out", j.out("run"), CUDA, "train.steps=8", "profile.budget=4"]
    j.run(2, run, verb="run", texts=["device: far", "peak_bytes=", "Trials", "staging  ", "peer access  ",
                                           "profile: algorithms: [1-9]", "products: algorithms of [1-9][0-9]* from"])
    j.run(2, run, verb="profile", texts=["used again"])
    again = ["--out", j.out("again"), CUDA, "train.steps=9"] + [f"{what}={j.out('run')}/{file}" for what, file in (
        ("plan.file", "plan.toml"), ("profile.file", "profile.h5"))]
    j.run(2, again, texts=["products: algorithms of [1-9][0-9]* from .*profile.h5"])
    j.run(2, run, verb="eval", texts=[" loss="])
    j.run(2, run + ["--prompt", "The", "--tokens", "5"], verb="generate", texts=["tokens=5"])
    j.run(2, [CUDA], verb="selftest", texts=["wrong=0"], deck="parallel")
    j.run(2, ["--out", j.out(".")], verb="doctor", texts=["2 devices, each of one rank"], deck=None)
    text = j.run(2, ["--out", j.out("run"), CPU, "train.steps=8", "profile.budget=2"], verb="profile")
    if "used again" in text or "kept from" in text:
        j.problems.append(f"the profile of devices is used for CPUs:\n{text}")


def shared(j):
    """Two ranks and one device: refused, or all through host memory with the same bits."""
    os.environ["GALVATRON_FAR_DEVICES"] = "1"
    ranks, words = PLANS["2tp"]
    advice = "use the same device 0000:00:00.0; start as many ranks on a node as it has devices"
    for device in (CUDA, "run.device=auto"):
        j.run(ranks, ["--out", j.out("refused"), device] + words, code=3, texts=[advice, "cuda-shared"])
    j.run(ranks, ["--out", j.out("cpu"), CPU] + SHORT + words)
    j.run(ranks, ["--out", j.out("far"), "run.device=cuda-shared"] + SHORT + words)
    j.same_metrics("cpu", "far")
    j.run(2, ["--out", j.out(".")], verb="doctor", code=3, texts=["FAIL +devices +.*same device"], deck=None)


def too_small(j):
    """A device without room for the plan: exit 8, after what the plan wanted memory for."""
    os.environ["GALVATRON_FAR_BYTES"] = str(300 << 10)
    j.run(1, ["--out", j.out("run"), CUDA, "plan.pp=1", "cluster.memory=1 GiB"], code=8,
          texts=["What the plan wants memory for|says nothing of its memory", "cannot allocate"])


def emulated(j):
    """The kernels for CUDA, played thread by thread, train as the CPU's do.

    AdamW's first step is the sign of a gradient, whatever its size: rounding moves a parameter whose gradient is all but zero
    by twice the learning rate. So plain SGD is held to rounding, and AdamW to what such parameters can do.
    """
    os.environ["GALVATRON_FAR_KERNELS"] = "emulated"
    small = ["train.steps=3", "train.warmup=1", "train.eval_every=0", "checkpoint.every=0", "search.batch=[2]", "model.layers=1", "plan.pp=1"]
    for name, bound, words in (("gpt", 1e-4, ["train.lr=1e-3"]),
                               ("llama", 1e-6, ["train.optimizer=sgd", "model.family=llama", "model.kv_heads=2"]),
                               ("bf16", 1e-2, ["train.precision=bf16"])):
        j.run(1, ["--out", j.out(name + "-cpu"), CPU] + small + words)
        j.run(1, ["--out", j.out(name + "-far"), CUDA] + small + words)
        cpu, far = j.metrics(name + "-cpu"), j.metrics(name + "-far")
        for step in cpu:
            for key in ("loss_hex", "grad_norm_hex"):
                a, b = (float.fromhex(m[step][key]) for m in (cpu, far))
                if not abs(a - b) <= bound * abs(a):
                    j.problems.append(f"{name}, step {step}: {key} is {b}, on the CPU {a}")


def absent(j):
    """A program that was built without CUDA says so, and goes on with `auto`."""
    text = j.run(2, ["--out", j.out("run"), CUDA, "plan.tp=2"], code=3,
                 texts=['run.device = "cuda": built without CUDA .configure with GALVATRON_WITH_CUDA=ON.'])
    j.once(text, "built without CUDA")
    j.run(2, ["--out", j.out("run"), "run.device=gpu"], code=2, texts=["device.*cuda-shared"])
    j.run(1, [CUDA], verb="selftest", code=3, texts=["built without CUDA"], deck="parallel")
    text = j.run(2, ["--out", j.out("run"), "run.device=auto", "plan.tp=2", "train.steps=8"])
    if re.search("device:", text):
        j.problems.append(f"a device on a build without any:\n{text}")


CASES = {"same" + name: lambda j, plan=name: same(j, plan) for name in PLANS} | {
    "resumed": resumed, "verbs": verbs, "shared": shared, "too_small": too_small, "emulated": emulated, "absent": absent,
}


if __name__ == "__main__":
    main(CASES)
