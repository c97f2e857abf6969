#!/usr/bin/env bash
# Makes the virtual environment of the PyTorch comparisons: recorded reference values (tests/golden/reference)
# and the training-step benchmark (tests/bench). Nothing that is built or installed needs it. The wheels of the
# package index bring their CUDA libraries along: several GB on disk, used on the CPU only.
#
#   tests/support/pytorch_venv.sh [FOLDER]      FOLDER: build/pytorch where left out; its python is printed last
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=${1:-${BUILD_DIR:-build}/pytorch}
python=$folder/bin/python
if ! "$python" -c 'import h5py, torch, transformers' 2>/dev/null; then
  python3 -m venv "$folder"
  "$python" -m pip install --quiet --no-cache-dir "torch${TORCH_VERSION:+==$TORCH_VERSION}" transformers h5py
fi
"$python" -c 'import torch, transformers; print("torch", torch.__version__, "transformers", transformers.__version__)'
echo "$python"
