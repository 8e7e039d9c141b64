#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace wam {

// Who must act decides the type; apps/wamtrain maps it to the exit code.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The user's recipe or command line (exit 2).
class ConfigError : public Error {
 public:
  using Error::Error;
  // One error for many problems, each on its own line: users mend all of them in one go.
  static ConfigError of(const std::vector<std::string>& problems);
};

// The user's files: datasets, weights, checkpoints (exit 2).
class DataError : public Error {
 public:
  using Error::Error;
};

// The machine: no GPU, no memory, disk full, driver (exit 3).
class DeviceError : public Error {
 public:
  using Error::Error;
};

// Other ranks or the network (exit 3).
class CommError : public Error {
 public:
  using Error::Error;
};

// A bug of ours (exit 4). Carries the place where it was noticed.
class InvariantError : public Error {
 public:
  explicit InvariantError(const std::string& what,
                          std::source_location where = std::source_location::current());
};

// Throws E unless `ok`; the text is only formatted on failure.
// The text says what was being done, what was found, what was expected and, for user errors, "Fix:
// …".
template <class E, class... A>
void require(bool ok, fmt::format_string<A...> text, A&&... values) {
  if (!ok) throw E(fmt::format(text, std::forward<A>(values)...));
}

// A check of our own reasoning: throws InvariantError with the caller's location.
void invariant(bool ok,
               const char* what,
               std::source_location where = std::source_location::current());

}  // namespace wam
