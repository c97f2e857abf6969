"""The two rules that call a tool: the format, and that each header compiles alone."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from house import read_layers, source_files


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def workers():
    return min(8, len(os.sched_getaffinity(0)))


def check_format(root, _build, offences):
    tool = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not tool:
        skip("clang-format is not installed (jobscripts/setup.sh --tests)")
    version = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    if "version 14" not in version:
        skip(f"the format is that of clang-format 14; here is {version.strip()}")
    files = [str(path) for path in source_files(root / "src") + source_files(root / "tests")]
    groups = [files[i::workers()] for i in range(workers())]

    def complaints(group):
        if not group:
            return ""
        return subprocess.run([tool, "--dry-run", *group], capture_output=True, text=True).stderr

    with ThreadPoolExecutor(workers()) as pool:
        for text in pool.map(complaints, groups):
            for line in text.splitlines():
                if "-Wclang-format-violations" in line:
                    path, number = line.split(":")[:2]
                    offences.add(path, number, "not as clang-format -i would write it")


def first_include(path):
    for line in path.read_text().splitlines():
        if line.startswith("#include"):
            return line.split('"')[1] if '"' in line else None
    return None


def compile_flags(root, build):
    """Per room the flags of one of its files: what the room may see. A room without files has the app's."""
    flags = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        try:
            room = Path(entry["file"]).relative_to(root / "src").parts[0]
        except ValueError:
            continue
        if room in flags or not entry["file"].endswith(".cpp"):
            continue
        words = shlex.split(entry["command"])
        while words[0].endswith("ccache"):
            words = words[1:]
        kept = [words[0]]
        for word, following in zip(words[1:], words[2:] + [""]):
            if word == "-isystem":
                kept += [word, following]
            elif word.startswith(("-I", "-D", "-std", "-f", "-m")):
                kept.append(word)
        flags[room] = kept
    return flags


def absent_toolkit(header, complaint):
    """The header of CUDA or NCCL that is missing on this machine: a build without devices needs none."""
    missing = re.search(r"fatal error: (cu\w+\.h|nccl\.h): No such file", complaint)
    return missing.group(1) if missing and {"cuda", "nccl"} & set(header.parts) else None


def check_headers(root, build, offences):
    """A header that some source file includes first is proven by that file's compilation; the rest are compiled."""
    if build is None or not (build / "compile_commands.json").exists():
        skip("there is no compile_commands.json (generators other than Ninja and Makefiles do not write one)")
    flags = compile_flags(root, build)
    rooms = read_layers(root)
    proven = {first_include(path) for path in source_files(root / "src") if path.suffix == ".cpp"}
    folder = build / "lint"
    folder.mkdir(exist_ok=True)
    ccache = [tool] if (tool := shutil.which("ccache")) else []

    def complaint(header):
        name = header.relative_to(root / "src")
        command = flags.get(name.parts[0], flags.get("app"))
        stub = folder / str(name).replace("/", "_").replace(".hpp", ".cpp")  # a stable name, for ccache
        stub.write_text(f'#include "{name}"\n')
        words = ccache + command + ["-w", "-O0", "-c", str(stub), "-o", str(stub.with_suffix(".o"))]
        done = subprocess.run(words, capture_output=True, text=True)
        return next((line for line in done.stderr.splitlines() if "error" in line), "") if done.returncode else None

    headers = [path for name in rooms for path in source_files(root / "src" / name) if path.suffix == ".hpp"]
    headers = [path for path in headers if str(path.relative_to(root / "src")) not in proven]
    with ThreadPoolExecutor(workers()) as pool:
        for header, text in zip(headers, pool.map(complaint, headers)):
            if text is None:
                continue
            if absent := absent_toolkit(header.relative_to(root / "src"), text):
                print(f"not proven: {header.relative_to(root)} needs {absent}, which is not installed")
                continue
            offences.add(header, 1, f"does not compile alone: {text}")
