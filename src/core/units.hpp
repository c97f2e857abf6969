#pragma once
// Bytes are bytes and seconds are seconds in every variable; this file is where they become text and where
// text becomes them.

#include <cstdint>
#include <string>
#include <string_view>

namespace galvatron::core {

constexpr int64_t kib = int64_t{1} << 10;
constexpr int64_t mib = int64_t{1} << 20;
constexpr int64_t gib = int64_t{1} << 30;

/// "812 B", "12.3 MiB": three significant digits in the largest fitting binary unit.
std::string format_bytes(int64_t bytes);

/// "12.3 us", "1.50 s", "2 min 05 s", "3 h 07 min".
std::string format_seconds(double seconds);

/// Bytes from "1 MiB", "1.5GiB", "200 MB" (powers of ten), "4096". Throws UserError naming the text.
int64_t parse_bytes(std::string_view text);

/// Seconds from "90", "1.5 h", "30 min", "250 ms", "12:30:00", "30:00" (minutes:seconds) or "1-12:00:00"
/// (days-hours:minutes:seconds, as Slurm writes it). Throws UserError naming the text.
double parse_seconds(std::string_view text);

}  // namespace galvatron::core
