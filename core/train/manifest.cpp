#include "core/train/manifest.h"

#include <nlohmann/json.hpp>

#include "core/base/errors.h"
#include "core/base/names.h"
#include "core/io/hash.h"
#include "core/io/tensor_file.h"

namespace wam {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kChecksum = "checksum";

Json object_of(const std::string& text, const char* what) {
  Json json = Json::parse(text, nullptr, false);
  require<InvariantError>(json.is_object(), "the manifest's {} is not a JSON object: {}", what,
                          text);
  return json;
}

Json to_json(const RunState& run) {
  Json frozen = Json::array();
  for (const FrozenOrigin& f : run.frozen) {
    frozen.push_back({{"component", f.component}, {"source", f.source}, {"hash", f.hash}});
  }
  return {{"step", run.step},
          {"applied_updates", run.applied_updates},
          {"data",
           {{"samples_seen", run.data.samples_seen},
            {"epoch", run.data.epoch},
            {"fingerprint", run.data.fingerprint},
            {"order", run.data.order},
            {"bad_windows", run.data.bad_windows}}},
          {"seed", run.seed},
          {"generator", run.generator},
          {"global_batch", run.global_batch},
          {"world_size", run.world_size},
          {"threads", run.threads},
          {"program", run.program},
          {"recipe", run.recipe},
          {"recipe_hash", run.recipe_hash},
          {"model", object_of(run.model, "model")},
          {"frozen", std::move(frozen)},
          {"extra", object_of(run.extra, "extra")}};
}

Json to_json(const ManifestUnit& unit) {
  Json tensors = Json::array();
  for (const TensorSpec& t : unit.tensors) {
    tensors.push_back({{"name", t.name},
                       {"shape", t.shape},
                       {"trainable", t.trainable},
                       {"decayed", t.decayed},
                       {"offset", t.offset}});
  }
  Json held = Json::array();
  for (const HeldRange& h : unit.held) {
    held.push_back({{"file", h.holder}, {"begin", h.begin}, {"end", h.end}});
  }
  return {{"name", unit.name},       {"trainable_numel", unit.trainable_numel},
          {"numel", unit.numel},     {"arrays", unit.arrays},
          {"held", std::move(held)}, {"tensors", std::move(tensors)}};
}

RunState run_of(const Json& json) {
  RunState run;
  json.at("step").get_to(run.step);
  json.at("applied_updates").get_to(run.applied_updates);
  const Json& data = json.at("data");
  data.at("samples_seen").get_to(run.data.samples_seen);
  data.at("epoch").get_to(run.data.epoch);
  data.at("fingerprint").get_to(run.data.fingerprint);
  if (data.contains("order")) data.at("order").get_to(run.data.order);
  // Checkpoints written before there were any lack it.
  if (data.contains("bad_windows")) data.at("bad_windows").get_to(run.data.bad_windows);
  json.at("seed").get_to(run.seed);
  json.at("generator").get_to(run.generator);
  json.at("global_batch").get_to(run.global_batch);
  json.at("world_size").get_to(run.world_size);
  json.at("threads").get_to(run.threads);
  json.at("program").get_to(run.program);
  json.at("recipe").get_to(run.recipe);
  json.at("recipe_hash").get_to(run.recipe_hash);
  run.model = json.at("model").dump();
  for (const Json& f : json.at("frozen")) {
    run.frozen.push_back({.component = f.at("component").get<std::string>(),
                          .source = f.at("source").get<std::string>(),
                          .hash = f.at("hash").get<std::string>()});
  }
  run.extra = json.at("extra").dump();
  return run;
}

ManifestUnit unit_of(const Json& json) {
  ManifestUnit unit;
  json.at("name").get_to(unit.name);
  json.at("trainable_numel").get_to(unit.trainable_numel);
  json.at("numel").get_to(unit.numel);
  json.at("arrays").get_to(unit.arrays);
  for (const Json& h : json.at("held")) {
    unit.held.push_back({.holder = h.at("file").get<std::size_t>(),
                         .begin = h.at("begin").get<std::int64_t>(),
                         .end = h.at("end").get<std::int64_t>()});
  }
  for (const Json& t : json.at("tensors")) {
    unit.tensors.push_back({.name = t.at("name").get<std::string>(),
                            .shape = t.at("shape").get<std::vector<std::int64_t>>(),
                            .trainable = t.at("trainable").get<bool>(),
                            .decayed = t.at("decayed").get<bool>(),
                            .offset = t.at("offset").get<std::int64_t>()});
  }
  return unit;
}

Json parse_checked(const std::string& text, const std::string& where) {
  Json json = Json::parse(text, nullptr, false);
  require<DataError>(json.is_object() && json.contains(kChecksum) && json[kChecksum].is_string(),
                     "reading {}: it is not a whole manifest ({} bytes). It was cut short or "
                     "damaged. Fix: use an older checkpoint.",
                     where, text.size());
  const std::string expected = json[kChecksum].get<std::string>();
  json.erase(kChecksum);
  std::string content;
  try {
    content = json.dump();
  } catch (const nlohmann::json::exception&) {
    content.clear();  // text that is no UTF-8: damaged, as the checksum then says
  }
  const std::string found = hash_hex(content_hash(content.data(), content.size()));
  require<DataError>(found == expected,
                     "reading {}: its checksum is {}, expected {}. It was changed or damaged. Fix: "
                     "use an older checkpoint.",
                     where, found, expected);
  return json;
}

}  // namespace

const ManifestUnit& Manifest::unit(const std::string& name) const {
  std::vector<std::string> names;
  for (const ManifestUnit& u : units) {
    if (u.name == name) return u;
    names.push_back(u.name);
  }
  const auto near = nearest_name(name, names);
  throw DataError(fmt::format("reading a checkpoint of step {}: it has no unit named {}{}.",
                              run.step, name, near ? fmt::format(" (nearest: {})", *near) : ""));
}

ManifestUnit describe_unit(const UnitSpec& spec, int num_shards, at::ScalarType state_type) {
  ManifestUnit unit;
  unit.name = spec.name;
  unit.tensors = spec.tensors;
  unit.trainable_numel = spec.trainable_numel;
  unit.numel = spec.numel;
  for (const std::string& array : spec.state_arrays) unit.arrays[array] = dtype_name(state_type);
  for (int i = 0; i < num_shards; ++i) {
    const ShardRange range = shard_range(spec, i, num_shards);
    unit.held.push_back(
        {.holder = static_cast<std::size_t>(i), .begin = range.begin, .end = range.end});
  }
  return unit;
}

std::string manifest_text(const Manifest& manifest) {
  Json json{{"format", manifest.format}};
  json.update(to_json(manifest.run));
  Json files = Json::array();
  for (const ManifestFile& f : manifest.files) {
    files.push_back({{"name", f.name}, {"bytes", f.bytes}, {"xxh3", f.xxh3}});
  }
  json["files"] = std::move(files);
  Json units = Json::array();
  for (const ManifestUnit& u : manifest.units) units.push_back(to_json(u));
  json["units"] = std::move(units);
  try {
    const std::string content = json.dump();
    json[kChecksum] = hash_hex(content_hash(content.data(), content.size()));
    return json.dump(1) + "\n";
  } catch (const nlohmann::json::exception& e) {
    throw InvariantError(fmt::format("a manifest that cannot be written as JSON: {}", e.what()));
  }
}

Manifest parse_manifest(const std::string& text, const std::string& where) {
  const Json json = parse_checked(text, where);
  try {
    Manifest manifest;
    json.at("format").get_to(manifest.format);
    require<DataError>(manifest.format == Manifest::kFormat,
                       "reading {}: it has format {}, this program reads format {}. Fix: use the "
                       "version of wamtrain that wrote it.",
                       where, manifest.format, Manifest::kFormat);
    manifest.run = run_of(json);
    for (const Json& f : json.at("files")) {
      manifest.files.push_back({.name = f.at("name").get<std::string>(),
                                .bytes = f.at("bytes").get<std::uint64_t>(),
                                .xxh3 = f.at("xxh3").get<std::string>()});
    }
    for (const Json& u : json.at("units")) manifest.units.push_back(unit_of(u));
    return manifest;
  } catch (const nlohmann::json::exception& e) {
    throw DataError(fmt::format("reading {}: malformed manifest ({}).", where, e.what()));
  }
}

}  // namespace wam
