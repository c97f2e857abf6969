#pragma once
// What the profile files of Galvatron 3.0 say, as tables that its price rules look up. Units are those of the
// files (MB = 2^20 bytes, milliseconds), because the rules round and compare in them.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace galvatron::cost::galvatron3 {

/// The numbers of one JSON file in its order, under their keys joined by '/':
/// "layertype_0/2048/parameter_size".
struct Numbers {
  std::string file;  ///< for messages
  std::vector<std::pair<std::string, double>> values;

  /// Throws core::UserError naming file and key when there is none.
  double at(const std::string& key) const;
  const double* find(const std::string& key) const;
};

struct Line {
  double slope = 0, intercept = 0;
  double at(double x) const { return slope * x + intercept; }
};

/// Least squares. At least two different x.
Line line_through(const std::vector<std::pair<double, double>>& points);

/// Milliseconds of one kind of collective by megabytes: a measured size exactly, any other by the line
/// through all sizes.
struct MessageTimes {
  std::map<double, double> measured;
  Line line;
  double at(double megabytes) const;
};

/// Numbers by degree of parallelism, which know where they come from.
struct ByDegree {
  std::string origin;  ///< "FILE: key"
  std::map<int64_t, double> values;
  /// Throws core::UserError when the degree is not in the file.
  double at(int64_t degree) const;
};

struct Hardware {
  ByDegree strided;         ///< all-reduce over every n-th rank: ms per MB
  ByDegree consecutive;     ///< over neighbours
  ByDegree point_to_point;  ///< by pipeline stages: ms per MB
  double overlap = 1;       ///< by which compute and communication slow each other down
  std::string collectives_file;
  std::map<int64_t, MessageTimes> all_gather, all_to_all;

  /// Throws core::UserError when the file has no such group.
  const MessageTimes& gather_over(int64_t ranks) const;
  const MessageTimes& exchange_over(int64_t ranks) const;
};

/// The four hardware files. Of the all-reduce of all `world` ranks only the consecutive form is read.
struct HardwareFiles {
  Numbers all_reduce, point_to_point, overlap, collectives;
};
Hardware hardware_of(const HardwareFiles& files, int64_t world);

/// How forward times follow from the profile: the first entry, a line over batches, a curve over lengths.
enum class TimeMode : uint8_t { fixed, batch, sequence };
enum class MemoryMode : uint8_t { fixed, sequence };

/// States and activations of embedding and head, by the degree of their split.
struct VocabTable {
  ByDegree states_mb;      ///< over data parallelism not sharded
  ByDegree activation_mb;  ///< per sample
};

struct ModelTables {
  int64_t layers = 0, hidden = 0, seq = 0;
  Line layer_ms, vocab_ms;      ///< forward, by samples; fixed and sequence have no intercept
  double parameter_mb = 0;      ///< of one layer, fp32, whole
  ByDegree activation_mb;       ///< per sample
  double kept_mb = 0;           ///< per sample, with recomputation
  VocabTable off, first, last;  ///< without pipeline; first and last stage
};

struct ModelFiles {
  Numbers computation, memory;
};

/// A model of one kind of layer. `suffix`: "_sp" where tensor parallelism splits the sequence too, else
/// empty.
struct ModelQuestion {
  int64_t layers = 0, hidden = 0, seq = 0;
  TimeMode time = TimeMode::batch;
  MemoryMode memory = MemoryMode::fixed;
  std::string suffix;
};
ModelTables model_of(const ModelFiles& files, const ModelQuestion& question);

}  // namespace galvatron::cost::galvatron3
