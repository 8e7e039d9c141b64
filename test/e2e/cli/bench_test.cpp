#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "test/e2e/cli/workplace.h"
#include "test/e2e/support/program.h"
#include "test/support/catch.h"

using Catch::Contains;
using wam::test::Outcome;
using wam::test::Program;
using wam::test::run_wamtrain;
using wam::test::Workplace;

namespace {

// One step and a short look at the card's own rate, on the CPU.
Outcome bench(const Workplace& place, const std::vector<std::string>& more, int ranks = 1) {
  std::vector<std::string> arguments{
      "bench", "recipe.yaml",       "--set", "run.device=cpu", "--steps",
      "1",     "--ceiling-seconds", "0.01"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_wamtrain(arguments, place.path(), ranks);
}

nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in);
}

}  // namespace

TEST_CASE("bench: the transformer's table, with a trace") {
  const Workplace place;
  place.write_recipe();

  const auto done = bench(place, {"--profile", "trace.json"});

  INFO(done.err);
  CHECK(done.exit_code == 0);
  CHECK(done.err.empty());
  for (const char* part :
       {"transformer, forward + backward", "model tiny-5b, micro_batch 2, recompute full",
        "samples/s", "of the card's own rate", "peak memory", "plan: units + activations",
        "the card: copy", "forward", "backward", "matrix products", "aten::", "TFLOP a sample"}) {
    CHECK_THAT(done.out, Contains(part));
  }
  CHECK(std::filesystem::exists(place.path() / "trace.json"));
  CHECK_FALSE(std::filesystem::exists(place.path() / "run"));
}

TEST_CASE("bench: named figures go into files of their names") {
  const Workplace place;
  place.write_recipe();

  const auto done = bench(place, {"--id", "tiny_ms", "--id", "tiny_memory=peak_bytes", "--json-dir",
                                  "figures", "--text-rows", "20", "--no-phases"});

  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  const auto time = read_json(place.path() / "figures" / "tiny_ms.json");
  CHECK(time["id"] == "tiny_ms");
  CHECK(time["unit"] == "ms");
  CHECK(time["value"].get<double>() > 0);
  CHECK(time["ratio"].get<double>() > 0);
  CHECK(time["ceiling"]["matmul_tflops"].get<double>() > 0);
  CHECK(time["settings"]["text_rows"] == "20");
  CHECK_THAT(time["command"].get<std::string>(),
             Contains("wamtrain bench recipe.yaml --set run.device=cpu --steps 1"));
  CHECK_FALSE(time["commit"].get<std::string>().empty());
  CHECK(read_json(place.path() / "figures" / "tiny_memory.json")["unit"] == "bytes");
}

TEST_CASE("bench: a signal ends it at once") {
  const Workplace place;
  place.write_recipe();
  Program program({"bench", "recipe.yaml", "--set", "run.device=cpu", "--steps", "100000"},
                  place.path());
  while (program.is_running() && program.out().empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  program.signal(SIGTERM);

  CHECK(program.wait().exit_code == -SIGTERM);
}

TEST_CASE("bench: a rank of a larger full shard needs less memory") {
  const Workplace place;
  place.write_recipe();
  const auto planned = [&](const std::vector<std::string>& more) {
    auto arguments = more;
    arguments.insert(arguments.end(), {"--json", "--no-phases"});
    const auto done = bench(place, arguments);
    INFO(done.err);
    REQUIRE(done.exit_code == 0);
    return nlohmann::json::parse(done.out)["figures"]["plan_bytes"]["value"].get<double>();
  };

  // Of two blocks both are in slots at once: only the pieces become smaller.
  CHECK(planned({"--assume-world", "8"}) < planned({"--assume-world", "2"}));
}

TEST_CASE("bench: every part of a run is timed, and none leaves a run behind") {
  const Workplace place;
  place.write_recipe();
  struct Part {
    std::vector<std::string> arguments;
    std::vector<std::string> figures;
  };
  const Part parts[] = {
      {{"encoders", "--clips", "2", "--encoder", "vae"}, {"ms", "peak_bytes"}},
      {{"encoders", "--text-rows", "9"}, {"ms", "image_ms", "text_ms"}},
      {{"encoders", "--set", "model.preset=tiny-14b", "--encoder", "vae"}, {"first_frame_ms"}},
      {{"optimizer"}, {"tb_s", "ms", "host_ms"}},
      {{"step", "--assume-world", "2", "--text-rows", "9"}, {"samples_s", "ms", "data_share"}},
      {{"data"}, {"samples_s", "ms", "cores_16", "transform_ms", "open_s"}},
      {{"data", "--against-one", "--set", "data.workers=2"}, {"alone_samples_s", "scaling"}},
      {{"loop", "--profile", "trace.json"}, {"samples_s", "ms", "peak_bytes"}}};

  for (const Part& part : parts) {
    std::vector<std::string> arguments{
        "--json", "--set", "data.text_cache=text", "--set", "data.index_cache=index", "--what"};
    arguments.insert(arguments.end(), part.arguments.begin(), part.arguments.end());
    const auto done = bench(place, arguments);
    INFO(part.arguments.front() << " " << done.err);
    REQUIRE(done.exit_code == 0);
    const auto json = nlohmann::json::parse(done.out);
    for (const auto& figure : part.figures) {
      INFO(figure);
      REQUIRE(json["figures"].contains(figure));
      CHECK(json["figures"][figure]["value"].get<double>() >= 0);
    }
    CHECK(json.dump().find("not finite") == std::string::npos);
  }
  CHECK(std::filesystem::exists(place.path() / "trace.json"));
  CHECK_FALSE(std::filesystem::exists(place.path() / "run"));
}

TEST_CASE("bench: links between two ranks, kept in a rates file that is read again") {
  if (!wam::test::has_mpirun()) return;
  const Workplace place;
  place.write_recipe();
  const std::vector<std::string> comm{"--what", "comm", "--save", "rates/cpu.yaml"};

  const auto first = bench(place, comm, 2);
  INFO(first.out << first.err);
  REQUIRE(first.exit_code == 0);
  for (const char* part : {"world          2  all_gather", "world          2  reduce_scatter",
                           "world          2  all_reduce", "bus GB/s", "rates saved"}) {
    CHECK_THAT(first.out, Contains(part));
  }

  auto again = comm;
  again.emplace_back("--json");
  const auto second = bench(place, again, 2);
  REQUIRE(second.exit_code == 0);
  const auto json = nlohmann::json::parse(second.out);  // of one rank alone
  REQUIRE(json["transfers"].size() == 3);
  for (const auto& line : json["transfers"]) {
    CHECK(line["ms"].get<double>() > 0);
    CHECK(line["algorithm_gb_s"].get<double>() > 0);
    CHECK(line["link_gb_s"].get<double>() > 0);  // of the first
  }
  CHECK_FALSE(std::filesystem::exists(place.path() / "run"));
}

TEST_CASE("bench: on two ranks a step is compared with itself without others, and with one alone") {
  if (!wam::test::has_mpirun()) return;
  const Workplace place;
  place.write_recipe();
  struct Part {
    std::vector<std::string> arguments;
    std::vector<std::string> figures;
  };
  const Part parts[] = {
      {{"model", "--set", "parallel.strategy=full_shard"},
       {"ms", "without_ms", "alone_ms", "efficiency", "exposed_share", "strategy_host_ms"}},
      {{"step", "--set", "parallel.strategy=shard_grad_op", "--set", "parallel.offload=optimizer"},
       {"ms", "wait_share", "without_ms", "alone_ms", "efficiency", "exposed_share",
        "over_compute"}},
      {{"step", "--no-encoders", "--save-to", "saved", "--set", "parallel.strategy=full_shard",
        "--set", "parallel.reduce=each"},
       {"samples_s", "efficiency", "over_compute", "checkpoint_stall_ms"}}};

  for (const Part& part : parts) {
    std::vector<std::string> arguments{"--json", "--against-one", "--no-phases", "--text-rows",
                                       "9",      "--what"};
    arguments.insert(arguments.end(), part.arguments.begin(), part.arguments.end());
    const auto done = bench(place, arguments, 2);
    INFO(part.arguments.front() << " " << done.err);
    REQUIRE(done.exit_code == 0);
    const auto json = nlohmann::json::parse(done.out);  // of one rank alone
    const auto value = [&](const char* figure) {
      return json["figures"][figure]["value"].get<double>();
    };
    for (const auto& figure : part.figures) {
      INFO(figure);
      CHECK(json["figures"].contains(figure));
    }
    CHECK(json["settings"]["ranks"] == "2");
    CHECK(value("efficiency") == Approx(value("alone_ms") / value("ms")));
    CHECK(value("exposed_share") == Approx(1 - value("without_ms") / value("ms")));
    CHECK(json.dump().find("not finite") == std::string::npos);
  }
  CHECK_FALSE(std::filesystem::exists(place.path() / "saved"));
}

TEST_CASE("bench: a folder that is there already is not saved to") {
  const Workplace place;
  place.write_recipe();
  std::filesystem::create_directory(place.path() / "mine");
  const auto done =
      bench(place, {"--what", "step", "--no-encoders", "--no-phases", "--save-to", "mine"});
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Contains("--save-to mine: it exists"));
  CHECK(std::filesystem::exists(place.path() / "mine"));
}

TEST_CASE("bench: ranks that cannot take equal parts of a batch are refused") {
  if (!wam::test::has_mpirun()) return;
  const Workplace place;
  place.write_recipe();
  const auto done = bench(place, {"--what", "step", "--set", "train.global_batch=3"}, 2);
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Contains("train.global_batch: 3 samples") && Contains("Fix: "));
}

TEST_CASE("bench: with one rank there are no links") {
  const Workplace place;
  place.write_recipe();
  const auto done = bench(place, {"--what", "comm"});
  CHECK(done.exit_code == 2);
  CHECK_THAT(done.err, Contains("nothing to measure. Fix: "));
}

TEST_CASE("bench: the loop wants a dataset") {
  const Workplace place;
  place.write_recipe("path: data", "path: none");

  for (const char* what : {"data", "loop"}) {
    const auto done = bench(place, {"--what", what});
    CHECK(done.exit_code == 2);
    CHECK_THAT(done.err, Contains("none"));
  }
  CHECK(bench(place, {"--what", "optimizer"}).exit_code == 0);
}

TEST_CASE("bench: what does not go together is refused before anything runs") {
  const Workplace place;
  place.write_recipe();
  const auto refused = [&](const std::vector<std::string>& more, const std::string& text) {
    const auto done = bench(place, more);
    INFO(done.err);
    CHECK(done.exit_code == 2);
    CHECK(done.out.empty());
    CHECK_THAT(done.err, Contains(text));
  };

  refused({"--what", "modle"}, "Fix: write model.");
  refused({"--what", "data", "--assume-world", "2"}, "--assume-world does not go with --what data");
  refused({"--what", "loop", "--save", "r.yaml"}, "--save does not go with --what loop");
  refused({"--save", "r.yaml", "--text-rows", "20"}, "--save and --text-rows");
  refused({"--text-rows", "513"}, "the model reads 512 at most");
  refused({"--id", "a_ms"}, "Fix: say where it goes, --json or --json-dir");
  refused({"--json", "--id", "a=none"}, "--what model has no figure none");
}

TEST_CASE("bench: --save keeps rates in the card's file, which plan reads") {
  const Workplace place;
  place.write_recipe();
  const auto save = [&](const std::vector<std::string>& more) {
    auto arguments = more;
    arguments.insert(arguments.end(), {"--no-phases", "--save", "rates/mine.yaml"});
    const auto done = bench(place, arguments);
    INFO(done.err);
    CHECK(done.exit_code == 0);
    CHECK_THAT(done.out, Contains("rates saved: rates/mine.yaml"));
  };
  save({});
  save({"--what", "optimizer"});
  save({"--what", "optimizer", "--set", "parallel.offload=optimizer"});
  save({"--what", "encoders", "--clips", "2", "--encoder", "vae"});
  save({});  // in the place of the first

  const auto done = run_wamtrain(
      {"plan", "recipe.yaml", "--gpus", "1", "--rates", "rates/mine.yaml", "--json"}, place.path());

  INFO(done.err);
  REQUIRE(done.exit_code == 0);
  const auto plan = nlohmann::json::parse(done.out);
  CHECK_THAT(plan["card"].get<std::string>(), Contains("CPU"));
  const auto time = plan["strategies"][0]["time"];
  for (const char* part : {"compute_s", "encoders_s", "optimizer_s", "samples_s"}) {
    INFO(part);
    CHECK(time[part].get<double>() > 0);
  }
  CHECK_THAT(plan["notes"][0].get<std::string>(), Contains("measured."));
  std::ifstream in(place.path() / "rates" / "mine.yaml");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  CHECK(text.find("host_optimizer_gb_s:\n  value: 0\n") == std::string::npos);
  CHECK(text.find("hop_us:\n  value: 0\n") != std::string::npos);
  const auto first = text.find("micro_batch: 2");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("micro_batch: 2", first + 1) == std::string::npos);
}
