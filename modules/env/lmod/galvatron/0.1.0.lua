-- Puts an installed galvatron on the path. GALVATRON_ROOT names the prefix it was installed under.
help([[galvatron: automatic hybrid-parallel training of transformers. See galvatron --help.]])
whatis("Name: galvatron")
whatis("Version: 0.1.0")

local root = os.getenv("GALVATRON_ROOT") or "/opt/galvatron/0.1.0"
conflict("galvatron")
setenv("GALVATRON_HOME", root)
prepend_path("PATH", pathJoin(root, "bin"))
