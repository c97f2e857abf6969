#!/usr/bin/env python3
"""The recipes of modules/spack, played with stand-ins for the names of spack.package that 0.23 and 1.x share: what a
recipe uses exists, its options are those of CMakeLists.txt, its variants are declared, and spack.yaml asks for the same.

Usage: spack_recipe.py SOURCE_FOLDER. Ends with 1 when something is wrong.
"""
import itertools
import re
import sys
import types
from pathlib import Path


class Values:
    def __init__(self, *values):
        self.values = values


class Spec:
    """The answers of a concrete spec, for one choice of variants; conditional variants that do not apply are absent."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.variants = {name: types.SimpleNamespace(value=value) for name, value in chosen.items()}

    def satisfies(self, text):
        if found := re.fullmatch(r"([+~])(\w+)", text):
            return self.chosen.get(found.group(2)) is (found.group(1) == "+")
        name, value = text.split("=")
        return value in self.chosen.get(name, ())


class Recorder:
    def __init__(self):
        self.variants, self.depends, self.problems = {}, [], []

    def names(self):
        """What a recipe may take from spack.package, in both releases."""
        recorder = self

        class CMakePackage:
            def define(self, name, value):
                return name, value

            def define_from_variant(self, name, variant):
                if variant not in recorder.variants:
                    recorder.problems.append(f"define_from_variant: there is no variant {variant}")
                return name, self.spec.variants[variant].value

        return {"CMakePackage": CMakePackage, "variant": self.variant, "depends_on": self.depends_on,
                "any_combination_of": Values, "license": lambda *_: None, "version": lambda *_, **__: None,
                "conflicts": lambda *_, **__: None, "working_dir": None, "Executable": None,
                "join_path": None}

    def variant(self, name, default=None, values=None, when=None, description=None):
        if not description:
            self.problems.append(f"variant {name} has no description")
        self.variants[name] = (default, values, when)

    def depends_on(self, spec, when=None, type=None):
        if when and (name := re.sub(r"\W", "", when)) not in self.variants:
            self.problems.append(f"depends_on {spec}: there is no variant {name}")
        self.depends.append(re.match(r"[\w-]+", spec).group(0))


def play(path, recorder):
    """The recipe's class. Nothing but spack.package and the standard library is there to import."""
    text = path.read_text()
    for line in re.findall(r"^[ \t]*(?:import|from) .*$", text, re.M):
        if line not in ("import os", "from spack.package import *"):
            recorder.problems.append(f"{path}: '{line}' is not valid on every Spack")
    module = types.ModuleType("spack.package")
    module.__dict__.update(recorder.names())
    module.__all__ = list(recorder.names())
    sys.modules["spack"], sys.modules["spack.package"] = types.ModuleType("spack"), module
    space = {"__file__": str(path), "__name__": "package"}
    exec(compile(text, str(path), "exec"), space)
    wanted = "".join(part.capitalize() for part in path.parent.name.split("-"))
    if wanted not in space:
        recorder.problems.append(f"{path}: there is no class {wanted}")
    return space.get(wanted)


def choices(variants):
    """Every choice of variants that Spack may make."""
    switches = [name for name, (_, values, when) in variants.items() if values is None]
    for bits in itertools.product((False, True), repeat=len(switches)):
        chosen = dict(zip(switches, bits))
        for name, (_, values, when) in variants.items():
            if when and chosen.get(when.strip("+")) is not True:
                chosen.pop(name, None)
            elif values is not None:
                for value in (("none",), values.values[:1], values.values):
                    yield {**chosen, name: value}
        yield chosen if "cuda" not in chosen or not chosen["cuda"] else {**chosen, "cuda_arch": ("none",)}


def check_galvatron(root, problems):
    recorder = Recorder()
    recipe = play(root / "modules/spack/packages/galvatron/package.py", recorder)
    options = set(re.findall(r"(?:option|set)\((GALVATRON_\w+)", (root / "CMakeLists.txt").read_text()))
    for chosen in choices(recorder.variants):
        package = recipe()
        package.spec = Spec(chosen)
        given = dict(package.cmake_args())
        problems += [f"{name} is no option of CMakeLists.txt" for name in given if name.startswith("GALVATRON_") and name not in options]
        problems += [f"{chosen}: NCCL without CUDA" for _ in [0] if given["GALVATRON_WITH_NCCL"] and not given["GALVATRON_WITH_CUDA"]]
        arch = given.get("CMAKE_CUDA_ARCHITECTURES")
        if (arch is not None) != (chosen.get("cuda_arch", ("none",)) != ("none",)):
            problems.append(f"{chosen}: CMAKE_CUDA_ARCHITECTURES is {arch}")
    for name in ("cuda", "cuda_arch", "nccl", "papi", "tests"):
        if name not in recorder.variants:
            problems.append(f"there is no variant {name}")
    environment = set(re.findall(r"^  -? ?#? ?- ([\w-]+)", (root / "spack.yaml").read_text(), re.M))
    named = {{"pkgconfig": "pkgconf", "mpi": "openmpi"}.get(name, name) for name in recorder.depends} - {"c", "cxx", "python"}
    if named - environment:
        problems.append(f"spack.yaml lacks {sorted(named - environment)}")
    environment -= {"ninja"}  # of the presets
    if environment - named:
        problems.append(f"the recipe lacks {sorted(environment - named)}")
    problems += recorder.problems


def main():
    root = Path(sys.argv[1]).resolve()
    problems = []
    repo = (root / "modules/spack/repo.yaml").read_text()
    if not re.search(r"^  namespace: \w+$", repo, re.M) or "api:" in repo:
        problems.append("repo.yaml needs a namespace and no api")
    check_galvatron(root, problems)
    other = Recorder()
    play(root / "modules/spack/packages/tomlplusplus/package.py", other)
    problems += other.problems
    for problem in sorted(set(problems)):
        print(problem)
    print(f"spack: {len(set(problems))} offences")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
