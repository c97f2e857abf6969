// Every list that comes from one front by adding one option is sorted as the front is, so fronts are merged,
// never sorted. What an option or a way can bring is judged before labels are made.
#include "search/labels.hpp"

#include <algorithm>
#include <tuple>

namespace galvatron::search {
Labels::Labels(const Relaxation& relaxation, int64_t limit)
    : r_(relaxation), limit_(limit), budget_(static_cast<double>(relaxation.budget_)) {
  most_value_ = limit == unreachable
                    ? std::numeric_limits<double>::infinity()
                    : static_cast<double>(limit - 1) + r_.guard() + r_.tight_.weights.by_bytes * budget_;
}

Labels::Front& Labels::next_list() {
  if (used_ == lists_.size()) lists_.emplace_back();
  lists_[used_].clear();
  return lists_[used_++];
}

/// Labels of one layout that go on in another one, or in their own.
void Labels::come_from(size_t layer, size_t live, size_t before) {
  const Row& row = rows_.back();
  const size_t begin = row.begins[before], end = row.begins[before + 1];
  if (begin == end) return;
  const int32_t from = layer == 0 ? r_.problem_.enters : r_.live_[before], to = r_.live_[live];
  const double by_bytes = r_.tight_.weights.by_bytes;
  const double most_value = most_value_ - r_.tight_.inner[r_.at(layer, live)];
  const double most_bytes = budget_ - r_.light_.inner[r_.at(layer, live)];
  const auto promising = [&](const Label& label, int64_t way) {
    return static_cast<double>(label.time + way) + by_bytes * static_cast<double>(label.bytes) <=
               most_value &&
           static_cast<double>(label.bytes) <= most_bytes;
  };
  int64_t way_time = 0;
  if (from != any_layout && from != to) {
    const auto first = row.labels.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = row.labels.begin() + static_cast<std::ptrdiff_t>(end);
    const int64_t floor = r_.ways_.floor(from, to);
    if (std::none_of(first, last, [&](const Label& label) { return promising(label, floor); })) return;
    const Way& way = r_.ways_.exact(from, to);
    if (way.work > r_.box_.cap[work]) return;
    way_time = way.time;
  }
  Front& list = next_list();
  for (size_t i = begin; i < end; ++i)
    if (promising(row.labels[i], way_time))
      list.push_back({row.labels[i].bytes, row.labels[i].time + way_time, static_cast<int32_t>(i), 0});
  if (list.empty()) --used_;
}

/// All labels that reach the layer in the layout, before it takes an option.
void Labels::arrive(size_t layer, size_t live) {
  used_ = 0;
  const size_t sources = layer == 0 ? 1 : r_.live_.size();
  for (size_t before = 0; before < sources; ++before) come_from(layer, live, before);
  merge_lists(arrivals_);
}

void Labels::pick(size_t layer, size_t live) {
  used_ = 0;
  const auto& weights = r_.tight_.weights;
  const double rest = r_.tight_.rest[r_.at(layer + 1, live)], light = r_.light_.rest[r_.at(layer + 1, live)];
  for (const auto& item : r_.fronts_[r_.list_of_[layer] * r_.live_.size() + live]) {
    const double most_value = most_value_ - rest - weights.of(item.time, item.bytes);
    const double most_bytes = budget_ - light - static_cast<double>(item.bytes);
    Front& list = next_list();
    for (const Label& from : arrivals_) {
      if (static_cast<double>(from.bytes) > most_bytes) break;
      if (weights.of(from.time, from.bytes) <= most_value)
        list.push_back({from.bytes + item.bytes, from.time + item.time, from.parent, item.pick});
    }
    made_ += static_cast<int64_t>(list.size());
    cut_ += static_cast<int64_t>(arrivals_.size() - list.size());
    if (list.empty()) --used_;
    if (made_ > label_limit_) return;
  }
}

void Labels::merge(const Front& a, const Front& b, Front& out) {
  out.clear();
  const auto take = [&](const Label& label) {
    if (out.empty() || label.time < out.back().time)
      out.push_back(label);
    else
      ++cut_;
  };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const bool first = std::tie(a[i].bytes, a[i].time) <= std::tie(b[j].bytes, b[j].time);
    take(first ? a[i++] : b[j++]);
  }
  while (i < a.size()) take(a[i++]);
  while (j < b.size()) take(b[j++]);
}

/// Merges all lists into one front, two by two.
void Labels::merge_lists(Front& out) {
  out.clear();
  while (used_ > 1) {
    size_t kept = 0;
    for (size_t i = 0; i < used_; i += 2, ++kept) {
      if (i + 1 < used_) {
        merge(lists_[i], lists_[i + 1], spare_);
        lists_[kept].swap(spare_);
      } else if (kept != i) {
        lists_[kept].swap(lists_[i]);
      }
    }
    used_ = kept;
  }
  if (used_ == 1) out.swap(lists_.front());
}

/// False when there would be too many labels; then nothing is added.
bool Labels::extend(size_t layer) {
  Row next;
  Front front;
  for (size_t live = 0; live < r_.live_.size(); ++live) {
    next.begins.push_back(next.labels.size());
    if (r_.closed(layer, live) || r_.fronts_[r_.list_of_[layer] * r_.live_.size() + live].empty()) continue;
    arrive(layer, live);
    if (arrivals_.empty()) continue;
    pick(layer, live);
    if (made_ > label_limit_) return false;
    merge_lists(front);
    next.labels.insert(next.labels.end(), front.begin(), front.end());
  }
  next.begins.push_back(next.labels.size());
  rows_.push_back(std::move(next));
  return true;
}

std::optional<Walk> Labels::best(int64_t label_limit, bool& complete) {
  label_limit_ = label_limit;
  rows_.assign(1, {{Label{}}, {0, 1}});
  complete = true;
  for (size_t layer = 0; complete && layer < r_.problem_.layers.size(); ++layer) {
    complete = extend(layer);
    if (rows_.back().labels.empty()) return std::nullopt;
  }
  if (!complete) return std::nullopt;
  return backtrack();
}

std::optional<Walk> Labels::backtrack() const {
  const Front& ends = rows_.back().labels;
  const auto best = std::min_element(ends.begin(), ends.end(), [](const Label& a, const Label& b) {
    return std::tie(a.time, a.bytes) < std::tie(b.time, b.bytes);
  });
  if (best->time >= limit_) return std::nullopt;
  Walk walk{best->time, best->bytes, std::vector<int32_t>(r_.problem_.layers.size())};
  auto index = static_cast<size_t>(best - ends.begin());
  for (size_t layer = walk.picks.size(); layer-- > 0;) {
    const Label& label = rows_[layer + 1].labels[index];
    walk.picks[layer] = label.pick;
    index = static_cast<size_t>(label.parent);
  }
  return walk;
}

}  // namespace galvatron::search
