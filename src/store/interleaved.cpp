// A merge of sorted lists none of which is ever made.
#include "store/interleaved.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace galvatron::store {

Interleaved::Interleaved(std::vector<Repeated> things) : things_(std::move(things)) {
  std::erase_if(things_, [](const Repeated& thing) { return thing.times <= 0; });
  std::sort(things_.begin(), things_.end(), [](const Repeated& a, const Repeated& b) {
    return std::tie(a.begin, a.owner) < std::tie(b.begin, b.owner);
  });
}

bool Interleaved::later(const Cursor& a, const Cursor& b) const {
  return std::tie(a.at, things_[a.thing].owner) > std::tie(b.at, things_[b.thing].owner);
}

std::optional<Interleaved::Place> Interleaved::next() {
  const auto order = [this](const Cursor& a, const Cursor& b) { return later(a, b); };
  for (; begun_ < things_.size() && (heap_.empty() || things_[begun_].begin <= heap_.front().at); ++begun_) {
    heap_.push_back({things_[begun_].begin, 0, begun_});
    std::push_heap(heap_.begin(), heap_.end(), order);
  }
  if (heap_.empty()) return std::nullopt;
  std::pop_heap(heap_.begin(), heap_.end(), order);
  auto& cursor = heap_.back();
  const auto& thing = things_[cursor.thing];
  const Place place{cursor.at, thing.owner, cursor.time};
  if (++cursor.time < thing.times) {
    cursor.at += thing.stride;
    std::push_heap(heap_.begin(), heap_.end(), order);
  } else {
    heap_.pop_back();
  }
  return place;
}

}  // namespace galvatron::store
