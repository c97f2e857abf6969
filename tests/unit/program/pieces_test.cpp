// Who holds which element: over all ranks every element of every whole tensor lies in exactly one slice, so
// initial weights, checkpoints and the gradient norm count each once.
#include "program/pieces.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/layer_cases.hpp"

namespace galvatron::program {
namespace {

using test::case_dims;
using test::lowered;
using test::strategy_of;

/// How often each element of each tensor was seen.
using Seen = std::map<std::string, std::vector<int>>;

Seen nothing_seen(const spec::LayerSpec& layer) {
  Seen seen;
  for (const auto& p : parameters_of(layer)) seen[p.name].assign(static_cast<size_t>(p.rows * p.cols), 0);
  return seen;
}

void see(Seen& seen, const ParameterGroup& group, int64_t begin, int64_t end) {
  int64_t previous = begin;
  for (const auto& run : runs_of(group, begin, end)) {
    auto& counts = seen.at(group.parameters[static_cast<size_t>(run.parameter)].name);
    for (int64_t time = 0; time < run.times; ++time) {
      const auto local = run.local + time * run.local_stride, global = run.global + time * run.global_stride;
      EXPECT_GE(local, previous) << group.name << ": runs ascend";
      EXPECT_LE(local + run.count, end) << group.name;
      previous = local + run.count;
      for (int64_t e = 0; e < run.count; ++e) ++counts.at(static_cast<size_t>(global + e));
    }
  }
}

void expect_all(const Seen& seen, int times, const std::string& text) {
  for (const auto& [name, counts] : seen)
    for (size_t e = 0; e < counts.size(); ++e)
      ASSERT_EQ(counts[e], times) << text << ": element " << e << " of " << name;
}

template <class Use>
void for_every_rank(const spec::LayerSpec& layer, LayerContext context, const Use& use) {
  const spec::MeshShape mesh(context.strategy, 0);
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    context.coordinate = mesh.coordinate_of(rank);
    use(lower(layer, context, NoWorkspace()));
  }
}

void see_slices(Seen& seen, const spec::LayerSpec& layer, const LayerContext& context) {
  for_every_rank(layer, context, [&](const Program& program) {
    for (const auto& group : program.groups)
      see(seen, group, group.replica_index * group.shard(), (group.replica_index + 1) * group.shard());
  });
}

TEST(Slices, HoldEveryElementOnce) {
  for (const auto& layer : test::layer_cases()) {
    for (const auto& context : test::legal_contexts(layer)) {
      if (context.tie == TieScope::across_stages) continue;
      auto seen = nothing_seen(layer);
      see_slices(seen, layer, context);
      expect_all(seen, 1, test::text_of(layer, context));
    }
  }
}

TEST(Slices, OfATableOnTwoStagesHoldEveryElementOnceTogether) {
  const auto dims = case_dims();
  for (const int32_t tp : {1, 2, 4})
    for (const int32_t dp : {1, 2, 3})
      for (const int32_t zero : {0, 1}) {
        LayerContext context;
        context.strategy = strategy_of(tp, dp, zero);
        context.tie = TieScope::across_stages;
        auto embedding = nothing_seen({"embedding", dims}), head = nothing_seen({"head", dims});
        see_slices(embedding, {"embedding", dims}, context);
        see_slices(head, {"head", dims}, context);
        const auto &first = embedding.at("tokens.weight"), &last = head.at("tokens.weight");
        for (size_t e = 0; e < first.size(); ++e)
          ASSERT_EQ(first[e] + last[e], 1) << "element " << e << ", " << spec::to_string(context.strategy);
      }
}

/// The rows of the tensor, clipped one by one.
std::vector<std::pair<int64_t, int64_t>> elements_of(const Parameter& p, int64_t begin, int64_t end) {
  std::vector<std::pair<int64_t, int64_t>> elements;
  for (int64_t row = 0; row < p.local_rows; ++row)
    for (int64_t col = 0; col < p.local_cols; ++col) {
      const auto local = p.offset + row * p.local_cols + col;
      if (local >= begin && local < end && p.row_begin + row < p.rows && p.col_begin + col < p.cols)
        elements.emplace_back(local, (p.row_begin + row) * p.cols + p.col_begin + col);
    }
  return elements;
}

TEST(Runs, AreTheElementsOfEveryRangeAndFew) {
  std::mt19937_64 generator(5);
  for (int round = 0; round < 2000; ++round) {
    const auto below = [&](int64_t limit) {
      return static_cast<int64_t>(generator() % static_cast<uint64_t>(limit));
    };
    Parameter p;
    p.rows = 1 + below(6);
    p.cols = 1 + below(6);
    p.local_rows = 1 + below(p.rows);
    p.local_cols = 1 + below(p.cols);
    p.row_begin = below(p.rows);  // part of the piece may be padding
    p.col_begin = p.local_cols == p.cols ? 0 : below(p.cols);
    p.offset = below(4);
    ParameterGroup group;
    group.parameters = {p};
    const auto begin = below(20), end = begin + below(40);
    std::vector<std::pair<int64_t, int64_t>> found;
    const auto runs = runs_of(group, begin, end);
    for (const auto& run : runs)
      for (int64_t time = 0; time < run.times; ++time)
        for (int64_t e = 0; e < run.count; ++e)
          found.emplace_back(run.local + time * run.local_stride + e,
                             run.global + time * run.global_stride + e);
    EXPECT_EQ(found, elements_of(p, begin, end)) << "round " << round;
    EXPECT_LE(runs.size(), 3U) << "round " << round;
  }
}

TEST(Runs, OfLargeLayersAreOnePerTensor) {
  spec::LayerDims dims;  // of a model with 70 billion parameters
  dims.hidden = 8192;
  dims.heads = 64;
  dims.kv_heads = 8;
  dims.head_dim = 128;
  dims.ffn = 28672;
  dims.vocab = 32000;
  dims.seq = 4096;
  for (const char* kind : {"attention", "mlp"}) {
    const auto program = lowered(kind, dims, strategy_of(8, 1));
    size_t runs = 0, tensors = 0;
    int64_t rows = 0;
    for (const auto& group : program.groups) {
      tensors += group.parameters.size();
      for (const auto& run : runs_of(group, 0, group.padded)) {
        ++runs;
        rows += run.times;
      }
    }
    EXPECT_EQ(runs, tensors) << kind;
    EXPECT_GT(rows, 8192) << kind << " has a tensor that is cut by columns";
  }
}

TEST(Buffers, HoldEveryElementOncePerReplica) {
  for (const int32_t tp : {1, 2, 4})
    for (const int32_t dp : {1, 3}) {
      LayerContext context;
      context.strategy = strategy_of(tp, dp);
      for (const char* kind : {"embedding", "attention", "mlp", "head"}) {
        const spec::LayerSpec layer = {kind, case_dims()};
        std::map<std::string, int> replicas;
        auto seen = nothing_seen(layer);
        for_every_rank(layer, context, [&](const Program& program) {
          for (const auto& group : program.groups) {
            see(seen, group, 0, group.padded);
            for (const auto& p : group.parameters) replicas[p.name] = group.replicas;
          }
        });
        for (const auto& [name, counts] : seen) expect_all({{name, counts}}, replicas.at(name), kind);
      }
    }
}

TEST(Groups, JoinWhatTensorParallelismDoesNotSplitAndCountItOnce) {
  const auto program = lowered("attention", case_dims(), strategy_of(2, 3));
  ASSERT_EQ(program.groups.size(), 2u);
  for (const auto& group : program.groups) {
    const bool over_tp = group.name == "replicated";
    EXPECT_EQ(group.replicas, over_tp ? 6 : 3) << group.name;
    EXPECT_EQ(group.axes.contains(spec::Axis::tp), over_tp) << group.name;
    for (const auto& p : group.parameters)
      EXPECT_EQ(p.local_elements() == p.rows * p.cols, over_tp) << p.name << " in group " << group.name;
    EXPECT_EQ(group.padded % group.replicas, 0) << group.name;
    EXPECT_LT(group.padded - group.elements, group.replicas) << group.name;
  }
}

TEST(Groups, AreOneWithoutTensorParallelism) {
  EXPECT_EQ(lowered("attention", case_dims(), strategy_of(1, 3)).groups.size(), 1u);
}

TEST(Groups, NormOfEachSliceIsTakenOnceAndGuestsTakeNone) {
  test::for_every_program([](const Program& program, const std::string& text) {
    std::map<int32_t, int64_t> elements;
    for (const auto& step : program.steps(Phase::gradient_norm)) {
      if (step.kind != StepKind::sum_of_squares) continue;
      const auto& operand = step.reads[0];
      elements[program.value(operand.value).group] += operand.cols;
    }
    for (size_t g = 0; g < program.groups.size(); ++g) {
      const auto& group = program.groups[g];
      EXPECT_EQ(elements[static_cast<int32_t>(g)], group.stored_here() ? group.shard() : 0)
          << text << ": " << group.name;
    }
  });
}

TEST(Groups, DecayMatricesAndNothingElse) {
  test::for_every_program([](const Program& program, const std::string& text) {
    for (const auto& group : program.groups) {
      bool ended = false;  // decayed parameters come first
      for (const auto& p : group.parameters) {
        EXPECT_EQ(p.decays, p.rows > 1) << text << ": " << p.name;
        EXPECT_FALSE(ended && p.decays) << text << ": " << p.name;
        ended = ended || !p.decays;
      }
    }
  });
}

/// The decay of each element that the optimizer updates, read from its steps.
TEST(Optimizer, CoversEachGroupWithItsDecay) {
  test::for_every_program([](const Program& program, const std::string& text) {
    for (const auto& step : program.steps(Phase::update)) {
      if (step.kind != StepKind::optimizer) continue;
      const auto& group = program.groups[static_cast<size_t>(program.value(step.writes[0].value).group)];
      const auto first = group.zero >= 1 ? group.replica_index * group.shard() : 0;
      int64_t decayed = 0, next = 0;
      for (const auto& p : group.parameters)
        if (p.decays) decayed += p.local_elements();
      for (const auto& range : std::get<OptimizerAttributes>(step.attributes).decay) {
        EXPECT_EQ(range.begin, next) << text;
        next = range.end;
        for (auto e = range.begin; e < range.end; ++e)
          ASSERT_EQ(range.decays, first + e < decayed) << text << ": element " << e << " of " << group.name;
      }
      EXPECT_EQ(next, group.moment_elements()) << text;
    }
  });
}

TEST(Vocabulary, IsPaddedOnTheLastRankOnly) {
  for (const char* kind : {"embedding", "head"})
    for (int32_t tp = 0; tp < 4; ++tp) {
      const auto program = lowered(kind, case_dims(), strategy_of(4, 1), {tp, 0, 0, 0});
      const Parameter* table = nullptr;
      const ParameterGroup* holder = nullptr;
      for (const auto& group : program.groups)
        for (const auto& p : group.parameters)
          if (p.name == "tokens.weight") table = &p, holder = &group;
      ASSERT_NE(table, nullptr);
      EXPECT_EQ(table->rows, 37);
      EXPECT_EQ(table->local_rows, 10) << "37 rows over 4 ranks, rounded up";
      EXPECT_EQ(table->row_begin, 10 * tp);
      int64_t real = 0;
      for (const auto& run : runs_of(*holder, 0, holder->padded))
        if (&holder->parameters[static_cast<size_t>(run.parameter)] == table) real += run.elements();
      EXPECT_EQ(real, (tp == 3 ? 7 : 10) * 24) << kind << ", rank " << tp;
    }
}

TEST(Vocabulary, LossKnowsWhereItEnds) {
  const auto program = lowered("head", case_dims(), strategy_of(4, 1), {3, 0, 0, 0});
  int found = 0;
  for (const auto& step : program.steps(Phase::forward)) {
    if (step.kind != StepKind::cross_entropy) continue;
    ++found;
    const auto& a = std::get<CrossEntropyAttributes>(step.attributes);
    EXPECT_EQ(a.vocab_begin, 30);
    EXPECT_EQ(a.vocab, 37);
    EXPECT_EQ(a.loss_weight, 0.0) << "the first rank of the tp group alone counts the loss";
  }
  EXPECT_EQ(found, 3);
}

TEST(Vocabulary, SmallerThanTheDegreeLeavesRanksWithPaddingOnly) {
  auto dims = case_dims();
  dims.vocab = 2;
  const auto program = lowered("head", dims, strategy_of(4, 1), {3, 0, 0, 0});
  for (const auto& group : program.groups)
    for (const auto& run : runs_of(group, 0, group.padded))
      EXPECT_NE(group.parameters[static_cast<size_t>(run.parameter)].name, "tokens.weight");
}

}  // namespace
}  // namespace galvatron::program
