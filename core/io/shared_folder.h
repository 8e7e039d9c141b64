#pragma once

#include <filesystem>

namespace wam {

// Files in folders that several processes, on several machines, may fill at once.

// A name beside `path` that no other thread or process writes under: for a file that is renamed to
// `path` when it is whole. It ends in ".tmp".
std::filesystem::path private_name(const std::filesystem::path& path);

// Removes what a killed process has left half-written, after a day. Says nothing when it cannot.
void remove_if_stale(const std::filesystem::path& path);

}  // namespace wam
