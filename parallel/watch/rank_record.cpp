#include "parallel/watch/rank_record.h"

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/format.h"

namespace wam {
namespace {

using nlohmann::json;

json in_hand_json(const InHand& in_hand) {
  const CollectiveCall call = in_hand.call.view();
  return json::array(
      {in_hand.sequence, call.operation, call.axis, call.purpose, call.bytes, in_hand.replayed});
}

InHand parse_in_hand(const json& j) {
  const auto operation = j.at(1).get<std::string>();
  const auto axis = j.at(2).get<std::string>();
  const auto purpose = j.at(3).get<std::string>();
  return {.sequence = j.at(0).get<std::uint64_t>(),
          .call = StoredCall({operation, axis, purpose, j.at(4).get<std::int64_t>()}),
          .replayed = j.at(5).get<bool>()};
}

json progress_json(const ProgressState& state) {
  json out{{"phase", name_of(state.phase)},
           {"step", state.step},
           {"micro_step", state.micro_step},
           {"issued", state.issued},
           {"completed", state.completed},
           {"mark", {state.mark.step, state.mark.issued, state.mark.signature}}};
  if (state.in_hand) out["in_hand"] = in_hand_json(*state.in_hand);
  return out;
}

ProgressState parse_progress(const json& j) {
  const auto phase = parse_name<Phase>(j.at("phase").get<std::string>());
  invariant(phase.has_value(), "a phase that is none");
  const json& mark = j.at("mark");
  ProgressState out{.phase = *phase,
                    .step = j.at("step").get<std::int64_t>(),
                    .micro_step = j.at("micro_step").get<std::int64_t>(),
                    .issued = j.at("issued").get<std::uint64_t>(),
                    .completed = j.at("completed").get<std::uint64_t>(),
                    .in_hand = {},
                    .moves = 0,
                    .mark = {.step = mark.at(0).get<std::int64_t>(),
                             .issued = mark.at(1).get<std::uint64_t>(),
                             .signature = mark.at(2).get<std::uint64_t>()}};
  if (j.contains("in_hand")) out.in_hand = parse_in_hand(j.at("in_hand"));
  return out;
}

// Names of collectives are cut at a byte, and errors may quote anything: what is no UTF-8 is
// replaced.
std::string dump(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class T>
T parse_text(std::string_view text, T (*read)(const json&)) {
  try {
    return read(json::parse(text));
  } catch (const json::exception& error) {
    throw InvariantError(fmt::format("the watch read '{}': {}", text, error.what()));
  }
}

RankRecord read_record(const json& j) {
  RankRecord out{.rank = j.at("rank").get<int>(),
                 .host = j.at("host").get<std::string>(),
                 .beat = j.at("beat").get<std::uint64_t>(),
                 .progress = parse_progress(j.at("progress")),
                 .still_s = j.at("still_s").get<double>(),
                 .failure = {},
                 .stop = {.wish = j.value("wish", "")},
                 .heard = j.at("heard").get<bool>(),
                 .left = j.at("left").get<bool>()};
  if (j.contains("passed")) out.stop.passed = j.at("passed").get<std::int64_t>();
  if (j.contains("failure")) {
    out.failure =
        Failure{.kind = j.at("own").get<bool>() ? Failure::Kind::kOwn : Failure::Kind::kCollective,
                .text = j.at("failure").get<std::string>(),
                .exit_code = j.at("exit_code").get<int>()};
  }
  return out;
}

Summary read_summary(const json& j) {
  Summary out{.beat = j.at("beat").get<std::uint64_t>(),
              .verdict = j.at("verdict").get<std::string>(),
              .culprits = j.at("culprits").get<std::vector<int>>(),
              .error = j.at("error").get<std::string>(),
              .exit_code = j.at("exit_code").get<int>(),
              .all_heard = j.at("all_heard").get<bool>(),
              .stop_reason = j.at("stop_reason").get<std::string>(),
              .stop_at = {}};
  if (j.contains("stop_at")) out.stop_at = j.at("stop_at").get<std::int64_t>();
  return out;
}

}  // namespace

std::string to_text(const RankRecord& record) {
  json out{{"rank", record.rank},       {"host", record.host},
           {"beat", record.beat},       {"progress", progress_json(record.progress)},
           {"still_s", record.still_s}, {"heard", record.heard},
           {"left", record.left}};
  if (record.failure) {
    out["failure"] = record.failure->text;
    out["own"] = record.failure->kind == Failure::Kind::kOwn;
    out["exit_code"] = record.failure->exit_code;
  }
  if (!record.stop.wish.empty()) out["wish"] = record.stop.wish;
  if (record.stop.passed) out["passed"] = *record.stop.passed;
  return dump(out);
}

std::string to_text(const Summary& summary) {
  json out{{"beat", summary.beat},
           {"verdict", summary.verdict},
           {"culprits", summary.culprits},
           {"error", summary.error},
           {"exit_code", summary.exit_code},
           {"all_heard", summary.all_heard},
           {"stop_reason", summary.stop_reason}};
  if (summary.stop_at) out["stop_at"] = *summary.stop_at;
  return dump(out);
}

RankRecord parse_record(std::string_view text) {
  return parse_text(text, read_record);
}

Summary parse_summary(std::string_view text) {
  return parse_text(text, read_summary);
}

std::string name_of_rank(int rank, const std::string& host) {
  return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} ({})", rank, host);
}

std::string describe(const InHand& in_hand) {
  const CollectiveCall call = in_hand.call.view();
  if (call.operation.empty()) return fmt::format("collective number {}", in_hand.sequence);
  return fmt::format("{} over {} of {} for '{}', number {}", call.operation, call.axis,
                     human_bytes(static_cast<double>(call.bytes)), call.purpose, in_hand.sequence);
}

std::string position(const ProgressState& progress) {
  std::string out;
  if (progress.step > 0) out += fmt::format("step {}, ", progress.step);
  if (progress.micro_step > 0) out += fmt::format("micro-step {}, ", progress.micro_step);
  out += name_of(progress.phase);
  if (progress.in_hand) {
    out += fmt::format(", {} {}", progress.in_hand->replayed ? "replaying a graph, in" : "in",
                       describe(*progress.in_hand));
  }
  return out;
}

}  // namespace wam
