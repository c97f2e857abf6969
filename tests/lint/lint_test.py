#!/usr/bin/env python3
"""The linter must find what it looks for: each rule is given a small house with one known offence."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import lint  # noqa: E402

GOOD = "// Why.\nint f() {\n  return 0;\n}\n"
LAYERS = "# room : rooms | outside\ncore : | fmt\nplan : core | toml\napp : everything | CLI\n"


class House(unittest.TestCase):
    def said(self, rule, files):
        """What the rule prints about a house with `files`, and whether it is content."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            rooms = {f"src/{room}/README.md": "# x\n" for room in ("core", "plan", "app")}
            for name, text in {"src/LAYERS": LAYERS, **rooms, **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                code = lint.main([rule, folder])
            return out.getvalue(), code == 0

    def offends(self, rule, name, text, expected):
        said, content = self.said(rule, {name: text})
        self.assertFalse(content, f"{rule} does not see: {expected}")
        self.assertIn(f"{name}:", said)
        self.assertIn(expected, said)

    def test_a_good_house_has_no_offences(self):
        for rule in lint.RULES:
            if rule not in ("headers", "format"):  # these need a compiler's commands and the style file
                said, content = self.said(rule, {"src/core/a.cpp": GOOD, "src/app/b.cpp": '// Why.\n#include "core/a.hpp"\n'})
                self.assertTrue(content, f"{rule}: {said}")

    def test_layers(self):
        self.offends("layers", "src/core/a.cpp", '#include "plan/p.hpp"\n', "core includes plan")
        self.offends("layers", "src/core/a.cpp", '#include "p.hpp"\n', "room/file.hpp")

    def test_outside(self):
        self.offends("outside", "src/core/a.cpp", "#include <toml++/toml.h>\n", "does not grant toml to core")
        self.offends("outside", "src/plan/a.cpp", "#include <mpi.h>\n", "does not grant mpi")
        self.offends("outside", "src/plan/a.cpp", "#include <boost/any.hpp>\n", "of no package")
        self.offends("outside", "src/core/a.cpp", "#include <fmt/core.h>\n", "use core::format")
        self.offends("outside", "src/plan/a.cpp", "#pragma omp parallel\n", "OpenMP")
        self.offends("outside", "src/plan/a.cpp", "#include <unistd.h>\n", "thinks")

    def test_pure(self):
        self.offends("pure", "src/plan/a.cpp", 'auto x = getenv("X");\n', "getenv")
        self.offends("pure", "src/plan/a.cpp", "#include <chrono>\n", "chrono")

    def test_guards(self):
        self.offends("guards", "src/app/a.cpp", "#ifdef X\n#endif\n", "conditional")

    def test_format(self):
        try:
            self.offends("format", "src/app/a.cpp", "int   x;\n", "clang-format")
        except SystemExit:
            self.skipTest("clang-format 14 is not installed")

    def test_length(self):
        body = "  g();\n" * 60
        self.offends("length", "src/app/a.cpp", f"// Why.\nint f(int a,\n      int b) {{\n{body}}}\n", "function of 62")
        self.offends("length", "src/app/a.cpp", f"class A {{\n  void f() const {{\n{body}  }}\n}};\n", "function of 62")
        self.offends("length", "src/app/a.cpp", "\n" * 400, "400 lines")
        self.offends("length", "src/app/a.hpp", "\n" * 200, "200 lines")
        said, content = self.said("length", {"src/app/a.cpp": f"namespace a {{\nstruct B {{\n" + "\n" * 70 + "};\n}\n"})
        self.assertTrue(content, said)

    def test_opening(self):
        self.offends("opening", "src/app/a.cpp", "#include <x>\n", "paragraph")
        self.offends("opening", "src/app/a.hpp", "// Why.\n", "#pragma once")

    def test_readme(self):
        self.offends("readme", "src/core/README.md", "x\n" * 31, "31 lines")

    def test_words(self):
        self.offends("words", "docs/a.md", "TO" + "DO later\n", "no place")

    def test_docs(self):
        deck = "## [train]\n\n| key |\n|---|\n| `steps` | x |\n"
        verbs = '{"run", ranks, x}\n'
        house = {"docs/deck.md": deck, "src/app/verbs.cpp": verbs, "src/core/a.cpp": GOOD}
        for text, expected in [("[a](gone.md)", "leads nowhere"), ("`train.stepz=3`", "no deck key train.stepz"),
                               ("`[trian]`", "no deck section"), ("`galvatron rum x.toml`", "no verb rum"),
                               ("`src/core/b.cpp`", "is not there"), ("```cpp\nint g();\n```", "not in the source")]:
            said, content = self.said("docs", {**house, "docs/a.md": text})
            self.assertFalse(content, f"docs does not see: {text}")
            self.assertIn(expected, said)
        good = "[a](deck.md) `train.steps=3` `[train]` `galvatron run x.toml` `train.toml` `src/core/a.cpp`\n```cpp\n  return 0;\n```\n"
        said, content = self.said("docs", {**house, "docs/a.md": good})
        self.assertTrue(content, said)


if __name__ == "__main__":
    unittest.main()
