#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/recipe/help.h"
#include "core/recipe/reader.h"
#include "core/recipe/writer.h"
#include "test/support/temp_folder.h"

namespace wam {

enum class Colour { kRed, kGreen };
template <>
struct EnumNames<Colour> {
  static constexpr std::array table{std::pair{Colour::kRed, "red"},
                                    std::pair{Colour::kGreen, "green"}};
};
template <>
struct PlannedNames<Colour> {
  static constexpr std::array<std::string_view, 1> table{"ultraviolet"};
};

namespace test {

struct ItemSection {
  std::filesystem::path path;
  double weight = 1;
  template <class V>
  void fields(V&& v) {
    v("path", path, "Where it is.");
    v("weight", weight, "Share (no unit).", above(0));
  }
};

struct InnerSection {
  std::string text_encoder;
  Colour colour = Colour::kRed;
  template <class V>
  void fields(V&& v) {
    v("text_encoder", text_encoder, "Any text.");
    v("colour", colour, "A colour.");
  }
};

struct OuterSection {
  std::int64_t steps = 10;
  double rate = 1e-5;
  bool fast = false;
  std::array<double, 2> betas{0.9, 0.99};
  std::optional<int> workers;
  std::vector<ItemSection> items;
  InnerSection inner;
  template <class V>
  void fields(V&& v) {
    v("steps", steps, "How long (steps).", at_least(1));
    v("rate", rate, "How fast (per step).", above(0));
    v("fast", fast, "Whether.");
    v("betas", betas, "Two numbers.", at_least_below(0, 1));
    v("workers", workers, "Threads.", at_least(0));
    v("items", items, "Things.");
    v("inner", inner, "More.");
  }
};

struct Everything {
  OuterSection outer;
  template <class V>
  void fields(V&& v) {
    v("outer", outer, "All of it.");
  }
};

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

// What loading `text` as a file called r.yaml gives.
struct Loaded {
  Everything recipe;
  std::vector<std::string> problems;  // without the folder
};
inline Loaded load_text(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const TempFolder folder;
  write_file(folder.path() / "r.yaml", text);
  Problems problems("r.yaml");
  Loaded out;
  out.recipe = load_recipe<Everything>(folder.path() / "r.yaml", overrides, problems);
  const auto prefix = folder.path().string() + "/";
  for (auto problem : problems.texts()) {
    for (auto at = problem.find(prefix); at != std::string::npos; at = problem.find(prefix)) {
      problem.erase(at, prefix.size());
    }
    out.problems.push_back(problem);
  }
  return out;
}

}  // namespace test
}  // namespace wam
