#pragma once
// How the ranks of a job come by the index of a text: whoever has one shows it, who has none makes it, and
// nobody waits for long without a word.

#include "comm/world.hpp"
#include "store/text_dataset.hpp"
#include "store/text_sources.hpp"

namespace galvatron::store {

/// Collective; `sources` are rank 0's. Fills in the datasets and says where the index is. False, with a
/// warning in `out`, where it cannot be made in any folder: the text must be read in another way then. Throws
/// AgreedError for a text that cannot be read and for what `options.alive` throws.
bool map_index(comm::World& world, const TextSources& sources, const TextOptions& options, TextDatasets& out);

}  // namespace galvatron::store
