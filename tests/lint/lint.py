#!/usr/bin/env python3
"""The rules of the house that a script can check: lint.py RULE SOURCE_FOLDER [BUILD_FOLDER].

Prints one line per offence (file:line: what) and returns 1 when there is any, 77 when a rule cannot be checked here.
"""
import re
import sys
from pathlib import Path

from compiled_rules import check_format, check_headers
from docs_rules import check_docs
from house import Offences, Room, house_files, read_layers, source_files

# Which outside package of src/LAYERS a header belongs to. Patterns match from the start of the header's name.
OUTSIDE = [
    (r"fmt/", "fmt"),
    (r"Random123/", "random123"),
    (r"toml\+\+/|toml\.hpp", "toml"),
    (r"mpi", "mpi"),
    (r"hdf5|H5", "hdf5"),
    (r"oneapi/|dnnl", "dnnl"),
    (r"omp\.h", "openmp"),
    (r"xxh", "xxhash"),
    (r"nlohmann/", "nlohmann"),
    (r"papi", "papi"),
    (r"CLI/", "CLI"),
    (r"cublas", "cublas"),
    (r"cudnn", "cudnn"),
    (r"nccl", "nccl"),
    (r"nvml", "nvml"),
    (r"cuda|device_launch|cub/|thrust/|cooperative_groups|mma\.h", "cuda"),
    (r"hwloc", "hwloc"),
]
# Headers of the operating system that any do-room may use.
SYSTEM = re.compile(
    r"(sys|linux)/[a-z_]+\.h$|(unistd|fcntl|sched|pthread|signal|dlfcn|glob|dirent|fnmatch|pwd|poll|errno|time"
    r"|immintrin|cpuid|malloc)\.h$")
STANDARD = re.compile(r"[a-z_0-9]+$")
THINK = {"core", "deck", "spec", "program", "plan", "cost", "search"}
# What a room of pure functions has no business with: the clock, threads' waiting, the environment, the file system.
IMPURE = re.compile(
    r"\bgetenv\b|\bstd::chrono\b|#include <(chrono|thread|filesystem|fstream|iostream|cstdio)>|\brand\(\)|random_device")
IMPURE_ALLOWED = {"core/errors.cpp"}  # snprintf, to keep the formatting library out of it
# Conditional compilation lives in the three factories, and where oneDNN 2.x is hidden from 3.x.
GUARD_ALLOWED = re.compile(r"src/(device|comm|kernels)/factory\.cpp$|src/kernels/cpu/onednn\.cpp$")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
LONGEST = {"header": 199, "file": 399, "function": 59, "readme": 30}


def includes(text):
    for number, line in enumerate(text.splitlines(), 1):
        if found := INCLUDE.match(line):
            yield number, found.group(1), found.group(2)


def check_layers(root, _build, offences):
    rooms = read_layers(root)
    for room in rooms.values():
        for path in source_files(root / "src" / room.name):
            for number, quote, name in includes(path.read_text()):
                if quote == "<":
                    continue
                other = name.split("/")[0]
                if other not in rooms:
                    offences.add(path, number, f'"{name}" is not of the form "room/file.hpp"')
                elif other != room.name and other not in room.rooms:
                    offences.add(path, number, f"{room.name} includes {other}, which src/LAYERS does not grant")


def check_outside(root, _build, offences):
    for room in read_layers(root).values():
        for path in source_files(root / "src" / room.name):
            text = path.read_text()
            for number, quote, name in includes(text):
                if quote == "<":
                    complain_outside(room, path, number, name, offences)
            for number, line in enumerate(text.splitlines(), 1):
                if re.match(r"\s*#\s*pragma\s+omp", line) and "openmp" not in room.outside:
                    offences.add(path, number, f"{room.name} uses OpenMP, which src/LAYERS does not grant")


def complain_outside(room: Room, path, number, name, offences):
    if name.startswith("fmt/") and not str(path).endswith("core/format.hpp"):
        offences.add(path, number, f"<{name}>: only core/format.hpp includes it; use core::format")
        return
    for pattern, package in OUTSIDE:
        if re.match(pattern, name):
            if package not in room.outside:
                offences.add(path, number, f"<{name}>: src/LAYERS does not grant {package} to {room.name}")
            return
    if SYSTEM.match(name):
        if room.name in THINK:
            offences.add(path, number, f"<{name}>: {room.name} thinks, and asks the system for nothing")
    elif not STANDARD.match(name):
        offences.add(path, number, f"<{name}>: of no package that tests/lint knows")


def check_pure(root, _build, offences):
    for name in THINK:
        for path in source_files(root / "src" / name):
            if str(path.relative_to(root / "src")) in IMPURE_ALLOWED:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if found := IMPURE.search(line):
                    offences.add(path, number, f"'{found.group(0)}' in {name}, a room of pure functions")


def check_guards(root, _build, offences):
    for path in source_files(root / "src") + source_files(root / "tests"):
        if GUARD_ALLOWED.search(str(path)):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line):
                offences.add(path, number, "conditional compilation outside the factories")


def without_text(line):
    """The line without strings, characters and // comments, so that its braces count."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    line = re.sub(r"'(\\.|[^'\\])'", "''", line)
    return line.split("//")[0]


NOT_A_FUNCTION = re.compile(r"\s*(namespace|class|struct|enum|union|extern|template\s*<[^>]*>\s*(class|struct))\b")


def functions(lines):
    """(first line, number of lines) of each function body, from 1: blocks that a parameter list opens."""
    stack = []
    for number, raw in enumerate(lines, 1):
        line = without_text(raw)
        for at, char in enumerate(line):
            if char == "{":
                start = number
                # The statement before the brace may have begun some lines above.
                while start > 1 and not re.search(r"[;{}:>]\s*$|^\s*$|^\s*//|^\s*#", without_text(lines[start - 2])):
                    start -= 1
                head = " ".join(lines[start - 1:number - 1] + [line[:at]])
                stack.append((number, "(" in head and "=" not in head.split("(")[0]
                              and not NOT_A_FUNCTION.match(head)))
            elif char == "}" and stack:
                begin, is_function = stack.pop()
                if is_function:
                    yield begin, number - begin + 1


def check_length(root, _build, offences):
    for path in source_files(root / "src") + source_files(root / "tests"):
        lines = path.read_text().splitlines()
        most = LONGEST["header" if path.suffix in (".hpp", ".cuh") else "file"]
        if len(lines) > most:
            offences.add(path, len(lines), f"{len(lines)} lines, more than {most}; find the second idea in it")
        for begin, length in functions(lines):
            if length > LONGEST["function"]:
                offences.add(path, begin, f"a function of {length} lines, more than {LONGEST['function']}")


def check_opening(root, _build, offences):
    for path in source_files(root / "src") + source_files(root / "tests"):
        lines = [line for line in path.read_text().splitlines() if line.strip()]
        if path.suffix in (".hpp", ".cuh"):
            if not lines or lines[0] != "#pragma once":
                offences.add(path, 1, "a header begins with #pragma once")
                continue
            lines = lines[1:]
        if not lines or not lines[0].startswith("//"):
            offences.add(path, 1, "the file does not open with a paragraph that says why it exists")


def check_readme(root, _build, offences):
    for name in read_layers(root):
        readme = root / "src" / name / "README.md"
        if not readme.exists():
            offences.add(readme, 1, "every room has a README.md")
        elif (length := len(readme.read_text().splitlines())) > LONGEST["readme"]:
            offences.add(readme, length, f"{length} lines, more than {LONGEST['readme']}")


def check_words(root, _build, offences):
    words = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|/work" + r"/|/ho" + r"me/")
    for path in house_files(root):
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if found := words.search(line):
                offences.add(path, number, f"'{found.group(0)}' has no place in the house")


RULES = {
    "layers": check_layers,
    "outside": check_outside,
    "pure": check_pure,
    "guards": check_guards,
    "length": check_length,
    "opening": check_opening,
    "readme": check_readme,
    "words": check_words,
    "docs": check_docs,
    "format": check_format,
    "headers": check_headers,
}


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in RULES:
        sys.exit(f"usage: lint.py {'|'.join(RULES)} SOURCE_FOLDER [BUILD_FOLDER]")
    root = Path(arguments[1]).resolve()
    build = Path(arguments[2]).resolve() if len(arguments) > 2 else None
    offences = Offences(root)
    RULES[arguments[0]](root, build, offences)
    for line in offences.lines:
        print(line)
    print(f"{arguments[0]}: {len(offences.lines)} offences")
    return 1 if offences.lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
