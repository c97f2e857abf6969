#!/usr/bin/env python3
"""Installs into a temporary prefix and uses what is there, from elsewhere: the program, a deck, the job scripts' helper and
the module files, the latter with whatever this machine has: Lmod, Environment Modules, lua, tclsh. Or has tests of the build folder
play the installed program.

Usage: installed.py CMAKE BUILD_FOLDER VERSION MPIEXEC [CTEST WORD…]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

FILES = ["bin/galvatron", "share/galvatron/inputs/quickstart.toml", "share/galvatron/inputs/clusters/nominal.toml",
         "share/galvatron/docs/running.md", "share/galvatron/README.md", "share/galvatron/LICENSE",
         "share/galvatron/jobscripts/common.sh", "share/galvatron/jobscripts/slurm/chain.sbatch"]
LUA = """
local text = {}
help = function() end
whatis = help
conflict = help
pathJoin = function(a, b) return a .. "/" .. b end
setenv = function(name, value) print(name .. "=" .. value) end
prepend_path = setenv
dofile(arg[1])
"""
TCL = """
proc module-whatis {args} {}
proc conflict {args} {}
proc setenv {name value} { puts "$name=$value" }
proc prepend-path {name value} { puts "$name=$value" }
source [lindex $argv 0]
"""


class Tree:
    def __init__(self, prefix, folder, version, mpiexec):
        self.prefix, self.folder, self.version, self.mpiexec = prefix, folder, version, mpiexec
        self.home = os.path.join(prefix, "share", "galvatron")
        self.problems = []

    def run(self, words, needed=(), cwd=None, code=0):
        done = subprocess.run(words, cwd=cwd or self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=1500, check=False)
        if done.returncode != code:
            self.problems.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}\n{done.stdout}")
        for what in needed:
            if not re.search(what, done.stdout):
                self.problems.append(f"{' '.join(words)}: '{what}' is missing in:\n{done.stdout}")
        return done.stdout

    def files(self):
        self.problems += [f"{name} was not installed" for name in FILES if not os.path.exists(os.path.join(self.prefix, name))]

    def program(self):
        galvatron = os.path.join(self.prefix, "bin", "galvatron")
        self.run([galvatron, "--version"], [f"galvatron {re.escape(self.version)}"])
        self.run([galvatron, "check", "inputs/tiny/gpt.toml", "cluster.nodes=1", "cluster.ranks_per_node=2"],
                 ["RESULT verb=check .*exit=0"], cwd=self.home)
        out = os.path.join(self.folder, "run")
        self.run([self.mpiexec, "--bind-to", "none", "-n", "2", galvatron, "train", "inputs/tiny/gpt.toml", "plan.tp=2",
                  "--out", out], ["RESULT verb=train steps=20 .*exit=0"], cwd=self.home)

    def tests(self, build, ctest):
        """Tests that the words after `ctest` choose play the program that lies here."""
        played = os.path.join(self.prefix, "bin", "galvatron")
        os.environ["GALVATRON_TEST_PROGRAM"] = played
        # A folder of its own: this may be played by a ctest that keeps its log in the build folder.
        with open(os.path.join(self.folder, "CTestTestfile.cmake"), "w", encoding="utf-8") as file:
            file.write(f'subdirs("{build}")\n')
        print(self.run([*ctest, "--test-dir", self.folder, "--no-tests=error", "--output-on-failure"], ["100% tests passed"]))

    def helper(self):
        """The job scripts find the program that they were installed with."""
        said = self.run(["env", "-u", "GALVATRON", "bash", "-c",
                         f". '{self.home}/jobscripts/common.sh' && realpath \"$(program)\" && cd '{self.home}' && "
                         f"run_folder inputs/tiny/gpt.toml --out '{self.folder}/a b'"])
        expected = [os.path.realpath(os.path.join(self.prefix, "bin", "galvatron")), f"{self.folder}/a b"]
        if said.splitlines() != expected:
            self.problems.append(f"common.sh says {said.splitlines()}, expected {expected}")

    def modules(self):
        """Whatever understands module files here; what it tried."""
        tried = []
        folders = {kind: os.path.join(self.home, "modulefiles", kind) for kind in ("lmod", "tcl")}
        wanted = {"GALVATRON_HOME": self.home, "GALVATRON_JOBSCRIPTS": os.path.join(self.home, "jobscripts"),
                  "PATH": os.path.join(self.prefix, "bin")}
        for program, kind, script, suffix in (("lua", "lmod", LUA, ".lua"), ("tclsh", "tcl", TCL, "")):
            if shutil.which(program) is None:
                continue
            tried.append(program)
            with open(os.path.join(self.folder, "module"), "w", encoding="ascii") as file:
                file.write(script)
            said = self.run([program, file.name, os.path.join(folders[kind], "galvatron", self.version + suffix)])
            if dict(line.split("=", 1) for line in said.splitlines() if "=" in line) != wanted:
                self.problems.append(f"{program}: the module says {said}, expected {wanted}")
        for name, init, kinds in (("Lmod", "/usr/share/lmod/lmod/init/bash", ("lmod", "tcl")),
                                  ("Environment Modules", "/usr/share/modules/init/bash", ("tcl",))):
            for kind in kinds if os.path.exists(init) else ():
                tried.append(f"{name} ({kind})")
                self.run(["bash", "-c", f". {init} && module use '{folders[kind]}' && module load galvatron && which galvatron && "
                          "galvatron --version && echo home=$GALVATRON_HOME. && module unload galvatron && "
                          "echo after=$GALVATRON_HOME."],
                         [re.escape(wanted["PATH"]) + "/galvatron", f"home={re.escape(self.home)}\\.", r"after=\."])
        return tried


def main():
    cmake, build, version, mpiexec, *ctest = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="galvatron-install-") as folder:
        prefix = os.path.join(folder, "prefix")
        tree = Tree(prefix, folder, version, mpiexec)
        tree.run([cmake, "--install", build, "--prefix", prefix])
        if not tree.problems and ctest:
            tree.tests(build, ctest)
        elif not tree.problems:
            tree.files()
            tree.program()
            tree.helper()
            print("module files were read by: " + (", ".join(tree.modules()) or "nothing that is here"))
    for problem in tree.problems:
        print(problem)
    sys.exit(1 if tree.problems else 0)


if __name__ == "__main__":
    main()
