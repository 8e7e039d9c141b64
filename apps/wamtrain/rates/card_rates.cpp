#include "apps/wamtrain/rates/card_rates.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/base/errors.h"
#include "core/io/atomic_file.h"
#include "core/io/disk.h"
#include "core/recipe/reader.h"
#include "core/recipe/writer.h"

namespace wam {
namespace {

constexpr const char* kHeader =
    "# Rates of one card, for `wamtrain plan --gpus`. `wamtrain bench --save` replaces the cases "
    "that\n"
    "# it measures. A rate with `assumed: true` was not measured on this card.\n";

// Sizes that differ only by rounding.
bool same(double a, double b) {
  return std::abs(a - b) <= 1e-4 * std::max(a, b);
}

bool same_case(const MicroStepRate& a, const MicroStepRate& b) {
  const RecomputePlan p = a.plan();
  const RecomputePlan q = b.plan();
  const bool same_recompute = p.policy == q.policy && p.first_blocks == q.first_blocks &&
                              (p.first_blocks == 0 || p.first_policy == q.first_policy);
  return a.model == b.model && same(a.forward_tflop, b.forward_tflop) &&
         a.micro_batch == b.micro_batch && same_recompute && a.compute == b.compute;
}

bool same_case(const EncoderRate& a, const EncoderRate& b) {
  return a.model == b.model && same(a.clip_megapixels, b.clip_megapixels) && a.clips == b.clips;
}

template <class T>
void put_into(std::vector<T>& all, const T& measured) {
  const auto place = std::find_if(all.begin(), all.end(),
                                  [&](const T& other) { return same_case(other, measured); });
  if (place == all.end()) {
    all.push_back(measured);
  } else {
    *place = measured;
  }
}

}  // namespace

CardRates load_rates(const std::filesystem::path& file) {
  Problems problems(file.string());
  auto rates = load_recipe<CardRates>(file, {}, problems);
  if (problems.empty() && rates.card.empty()) {
    problems.add("card", "not named. Fix: write the card's name, as wamtrain bench shows it.");
  }
  problems.throw_if_any();
  return rates;
}

void save_rates(const CardRates& rates, const std::filesystem::path& file) {
  if (file.has_parent_path()) make_folders(file.parent_path());
  write_file_atomically(file, kHeader + dump_recipe(rates));
}

void put(CardRates& rates, const MicroStepRate& measured) {
  put_into(rates.micro_steps, measured);
}

void put(CardRates& rates, const EncoderRate& measured) {
  put_into(rates.encoders, measured);
}

std::string rates_file_name(const std::string& card) {
  std::string name = card.substr(0, card.find(','));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return std::isalnum(c) != 0 ? static_cast<char>(std::tolower(c)) : '_';
  });
  const std::string maker = "nvidia_";
  return (name.starts_with(maker) ? name.substr(maker.size()) : name) + ".yaml";
}

}  // namespace wam
