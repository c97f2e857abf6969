#!/usr/bin/env python3
"""Records what the public reference implementation (Hugging Face transformers on PyTorch) computes, in float64
and, for training with 16 bits, in float16.

Two tiny models: one like GPT-2, one like LLaMA with grouped-query attention. The values are what the parity test
`parity.runtime.reference` holds this program against. Made again with

    "$(tests/support/pytorch_venv.sh | tail -1)" tests/golden/reference/record.py tests/golden/reference

Each output file (HDF5) has the attributes `torch`, `transformers` (versions) and `family`, and
  settings/<key>          model and optimizer settings: integers and texts as attributes, numbers as datasets of one element
  losses, gradient_norms  of each AdamW step; the norm is taken before clipping
  token_losses            of the first batch, sample after sample
  logits                  of the first sample, position after position, before any step
  gradients/<tensor>      of the first step, before clipping, row-major, under this program's names and shapes
  weights/<tensor>        after the last step
  float16/…               losses, gradient_norms, gradients and weights of the same training with parameters, activations and
                          gradients in float16: the loss is multiplied by LOSS_SCALE, AdamW works on float32 masters

Weights and tokens are not stored: both come from a counter. Element i of the tensor NAME is made from
    z = splitmix64(fnv1a64(NAME) + i),   u = (z >> 53) / 1024 - 1       (2048 values in [-1, 1), exact in fp32)
matrices: u / 4; norm weights: 1 + u / 8; other vectors: u / 8. Token number i of all samples, laid one after the other,
seq + 1 tokens each, is splitmix64(fnv1a64("tokens") + i) modulo the vocabulary; step s trains on samples
s · batch … (s + 1) · batch - 1, on which position p predicts token p + 1.
"""
import copy
import enum
import math
import sys
from pathlib import Path

import h5py
import numpy
import torch
import transformers
from transformers.models.llama import modeling_llama

U64 = (1 << 64) - 1
LOSS_SCALE = 65536.0
COMMON = {"layers": 2, "hidden": 24, "heads": 4, "vocab": 37, "seq": 16, "norm_eps": 1e-5, "batch": 4, "steps": 10,
          "schedule_steps": 20, "warmup": 3, "lr": 1e-2, "min_lr": 1e-3, "weight_decay": 0.1, "beta1": 0.9,
          "beta2": 0.95, "eps": 1e-6, "clip": 0.5}
GPT = COMMON | {"family": "gpt", "kv_heads": 4, "ffn": 40, "norm": "layernorm", "activation": "gelu",
                "position": "learned", "bias": 1, "tie_embeddings": 1}
LLAMA = COMMON | {"family": "llama", "kv_heads": 2, "ffn": 32, "norm": "rmsnorm", "activation": "swiglu",
                  "position": "rope", "bias": 0, "tie_embeddings": 0, "rope_base": 10000.0}


def fnv1a64(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) & U64
    return value


def splitmix64(x):
    z = (x + 0x9E3779B97F4A7C15) & U64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & U64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & U64
    return z ^ (z >> 31)


def initial(name, shape):
    base, count = fnv1a64(name), math.prod(shape)
    u = torch.tensor([(splitmix64((base + i) & U64) >> 53) / 1024 - 1 for i in range(count)], dtype=torch.float64)
    if len(shape) > 1:
        u = u / 4
    else:
        u = u / 8 + (1 if name.endswith("norm.weight") else 0)
    return u.reshape(shape)


def batch_of(s, step):
    window = s["seq"] + 1
    first = step * s["batch"] * window
    base = fnv1a64("tokens")
    ids = [splitmix64((base + first + i) & U64) % s["vocab"] for i in range(s["batch"] * window)]
    ids = torch.tensor(ids).reshape(s["batch"], window)
    return ids[:, :-1], ids[:, 1:]


Precision = enum.Enum("Precision", ["float64", "float16"])


class Part:
    """One tensor of ours inside one parameter of the reference: rows [begin, end) of it, or of its transpose."""

    def __init__(self, parameter, transposed=False, begin=0, end=None):
        self.parameter, self.transposed, self.begin, self.end = parameter, transposed, begin, end

    def view(self, tensor):
        return (tensor.T if self.transposed else tensor)[self.begin:self.end]


def gpt_parts(model, s):
    core, h = model.transformer, s["hidden"]
    parts = {"embedding.tokens.weight": Part(core.wte.weight), "embedding.positions.weight": Part(core.wpe.weight)}
    for b, block in enumerate(core.h):
        for layer, norm in (("attention", block.ln_1), ("mlp", block.ln_2)):
            parts[f"blocks.{b}.{layer}.norm.weight"] = Part(norm.weight)
            parts[f"blocks.{b}.{layer}.norm.bias"] = Part(norm.bias)
        for i, name in enumerate("qkv"):
            rows = (i * h, (i + 1) * h)
            parts[f"blocks.{b}.attention.{name}.weight"] = Part(block.attn.c_attn.weight, True, *rows)
            parts[f"blocks.{b}.attention.{name}.bias"] = Part(block.attn.c_attn.bias, False, *rows)
        for name, conv in (("attention.out", block.attn.c_proj), ("mlp.up", block.mlp.c_fc),
                           ("mlp.down", block.mlp.c_proj)):
            parts[f"blocks.{b}.{name}.weight"] = Part(conv.weight, True)
            parts[f"blocks.{b}.{name}.bias"] = Part(conv.bias)
    parts["head.norm.weight"], parts["head.norm.bias"] = Part(core.ln_f.weight), Part(core.ln_f.bias)
    return parts


def llama_parts(model, _):
    core = model.model
    parts = {"embedding.tokens.weight": Part(core.embed_tokens.weight)}
    for b, block in enumerate(core.layers):
        names = {"attention.norm": block.input_layernorm, "attention.q": block.self_attn.q_proj,
                 "attention.k": block.self_attn.k_proj, "attention.v": block.self_attn.v_proj,
                 "attention.out": block.self_attn.o_proj, "mlp.norm": block.post_attention_layernorm,
                 "mlp.gate": block.mlp.gate_proj, "mlp.up": block.mlp.up_proj, "mlp.down": block.mlp.down_proj}
        for name, module in names.items():
            parts[f"blocks.{b}.{name}.weight"] = Part(module.weight)
    parts["head.norm.weight"], parts["head.tokens.weight"] = Part(core.norm.weight), Part(model.lm_head.weight)
    return parts


def gpt_model(s):
    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=s["vocab"], n_positions=s["seq"], n_embd=s["hidden"], n_layer=s["layers"], n_head=s["heads"],
        n_inner=s["ffn"], activation_function="gelu_new", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        layer_norm_epsilon=s["norm_eps"], attn_implementation="sdpa", use_cache=False,
        bos_token_id=None, eos_token_id=None))


def llama_model(s):
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=s["vocab"], hidden_size=s["hidden"], intermediate_size=s["ffn"], num_hidden_layers=s["layers"],
        num_attention_heads=s["heads"], num_key_value_heads=s["kv_heads"], max_position_embeddings=s["seq"],
        rms_norm_eps=s["norm_eps"], attention_bias=False, mlp_bias=False, tie_word_embeddings=False,
        rope_parameters={"rope_type": "default", "rope_theta": s["rope_base"]}, attn_implementation="sdpa",
        use_cache=False))


def keep_float64(s):
    """The LLaMA classes compute norms and rotary angles in float32 whatever the model's type. The same formulas in
    float64 take their place; main() shows that both agree to float32's precision."""

    def norm(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))

    def rotary(self, x, position_ids):
        width = s["hidden"] // s["heads"]
        inverse = s["rope_base"] ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        angles = position_ids[..., None].double() * inverse
        angles = torch.cat((angles, angles), dim=-1)
        return angles.cos(), angles.sin()

    modeling_llama.LlamaRMSNorm.forward = norm
    modeling_llama.LlamaRotaryEmbedding.forward = rotary


def learning_rate(s, step):
    if step < s["warmup"]:
        return s["lr"] * (step + 1) / s["warmup"]
    share = min(1.0, (step - s["warmup"]) / (s["schedule_steps"] - s["warmup"]))
    return s["min_lr"] + (s["lr"] - s["min_lr"]) * 0.5 * (1 + math.cos(math.pi * share))


def losses_of(model, tokens, labels):
    logits = model(tokens).logits
    if logits.dtype == torch.float16:
        logits = logits.float()
    return logits, torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")


def train(model, parts_of, s, precision=Precision.float64):
    """In float16 the optimizer updates masters in float32, in float64 the parameters themselves."""
    parts, working = parts_of(model, s), list(model.parameters())
    masters, scale = working, 1.0
    if precision is Precision.float16:
        masters, scale = [p.detach().float().requires_grad_() for p in working], LOSS_SCALE
        model.half()
    groups = [{"params": [p for p in masters if p.dim() >= 2], "weight_decay": s["weight_decay"]},
              {"params": [p for p in masters if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, betas=(s["beta1"], s["beta2"]), eps=s["eps"])
    out = {"losses": [], "gradient_norms": []}
    for step in range(s["steps"]):
        logits, losses = losses_of(model, *batch_of(s, step))
        model.zero_grad()
        (losses.mean() * scale).backward()
        for master, p in zip(masters, working):
            master.grad = p.grad.to(master.dtype) / scale
        if step == 0:
            out["logits"], out["token_losses"] = logits[0].detach(), losses.detach()
            for name, part in parts.items():
                out["gradients/" + name] = part.view(part.parameter.grad).to(masters[0].dtype) / scale
        out["losses"].append(losses.mean().item())
        out["gradient_norms"].append(torch.nn.utils.clip_grad_norm_(masters, s["clip"]).item())
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(s, step)
        optimizer.step()
        with torch.no_grad():
            for master, p in zip(masters, working):
                p.copy_(master)
    of = {id(p): master for master, p in zip(masters, working)}
    for name, part in parts.items():
        out["weights/" + name] = part.view(of[id(part.parameter)]).detach().clone()
    return out


def write(path, s, out):
    with h5py.File(path, "w", libver=("earliest", "v110"), track_order=False) as file:
        file.attrs["torch"] = numpy.bytes_(torch.__version__)
        file.attrs["transformers"] = numpy.bytes_(transformers.__version__)
        file.attrs["family"] = numpy.bytes_(s["family"])
        settings = file.create_group("settings")
        for key, value in s.items():
            if isinstance(value, float):
                settings.create_dataset(key, data=numpy.array([value]))
            else:
                settings.attrs[key] = numpy.bytes_(value) if isinstance(value, str) else numpy.int64(value)
        for key, value in out.items():
            width = numpy.float32 if key.startswith("float16/") and "s/" in key else numpy.float64
            array = numpy.asarray(value, dtype=width).ravel()
            file.create_dataset(key, data=array)


def main():
    folder = Path(sys.argv[1])
    torch.set_num_threads(1)
    for s, make, parts_of in ((GPT, gpt_model, gpt_parts), (LLAMA, llama_model, llama_parts)):
        model = make(s).double()
        parts = parts_of(model, s)
        covered = sum(part.view(part.parameter).numel() for part in parts.values())
        assert covered == sum(p.numel() for p in model.parameters()), "a parameter has no name of ours"
        with torch.no_grad():
            for name, part in parts.items():
                target = part.view(part.parameter)
                target.copy_(initial(name, tuple(target.shape)))
        half = train(copy.deepcopy(model), parts_of, s, Precision.float16)  # with the classes as they are
        if s is LLAMA:
            plain = losses_of(model, *batch_of(s, 0))[0].detach()
            keep_float64(s)
            apart = (losses_of(model, *batch_of(s, 0))[0] - plain).abs().max().item()
            print(f"llama: float64 throughout differs from the classes as they are by {apart:.1e} in the logits")
            assert 0 < apart < 1e-5
        out = train(model, parts_of, s)
        out |= {"float16/" + key: value for key, value in half.items() if key not in ("logits", "token_losses")}
        write(folder / f"{s['family']}.h5", s, out)
        print(s["family"], covered, "parameters, losses", out["losses"], "norms", out["gradient_norms"])


if __name__ == "__main__":
    main()
