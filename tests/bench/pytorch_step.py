#!/usr/bin/env python3
"""One training step of a GPT-2 shape in PyTorch on the CPU: the comparison beside bench train_step.

Best practice of that library: one fused projection for q, k and v, scaled_dot_product_attention, fused AdamW, bf16
through autocast (weights, gradients and moments stay fp32), torch.compile where asked for. No dropout, tied table,
clipping by the global norm. Prints one JSON line with the median step.

    "$(tests/support/pytorch_venv.sh | tail -1)" tests/bench/pytorch_step.py --samples 4 --seq 256 --threads 2
"""
import argparse
import json
import os
import resource
import statistics
import time


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--vocab", type=int, default=50257)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3, help="timed steps, after one that is not")
    parser.add_argument("--compile", action="store_true")
    return parser.parse_args()


def build(torch, options):
    nn, functional = torch.nn, torch.nn.functional
    width, heads = options.hidden, options.heads

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            samples, seq, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(samples, seq, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(samples, seq, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.positions = nn.Embedding(options.vocab, width), nn.Embedding(options.seq, width)
            self.blocks = nn.ModuleList(Block() for _ in range(options.layers))
            self.norm = nn.LayerNorm(width)
            self.apply(self.initialise)

        @staticmethod
        def initialise(module):
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear):
                nn.init.zeros_(module.bias)

        def forward(self, ids, labels):
            x = self.tokens(ids) + self.positions.weight
            for block in self.blocks:
                x = block(x)
            logits = functional.linear(self.norm(x), self.tokens.weight)
            return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())

    return Gpt()


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main():
    options = arguments()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model = build(torch, options)
    groups = [{"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=6e-4, betas=(0.9, 0.95), fused=True)
    play = torch.compile(model) if options.compile else model
    ids = torch.randint(options.vocab, (options.samples, options.seq + 1))
    seconds, losses, cpu = [], [], 0.0
    for step in range(options.steps + 1):
        if step == 1:
            cpu = cpu_seconds()
        begin = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=options.precision == "bf16"):
            loss = play(ids[:, :-1], ids[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        seconds.append(time.perf_counter() - begin)
        losses.append(loss.item())
    median = statistics.median(seconds[1:])
    print(json.dumps({"torch": torch.__version__, "samples": options.samples, "seq": options.seq,
                      "precision": options.precision, "threads": options.threads, "compile": options.compile,
                      "step_s": median, "cpu_s": (cpu_seconds() - cpu) / options.steps,
                      "steps_s": seconds, "tokens_per_s": options.samples * options.seq / median,
                      "losses": losses}))


if __name__ == "__main__":
    main()
