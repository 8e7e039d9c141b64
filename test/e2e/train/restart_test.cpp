#include <filesystem>
#include <string>

#include "test/e2e/support/shell.h"
#include "test/e2e/support/tiny_run.h"
#include "test/support/catch.h"
#include "test/support/temp_folder.h"

// scripts/restart.sh: what is started again, and what ends the loop.

using Catch::Contains;
using wam::test::bash;
using wam::test::file_content;
using wam::test::quoted;
using wam::test::TempFolder;
using wam::test::TinyRuns;

TEST_CASE("restart: again after the machine's errors and signals, and after nothing else") {
  const TempFolder folder;
  // A command that leaves with the next of some codes at each start; 9 stands for SIGKILL.
  const std::string fake = R"(
cat >fake.sh <<'END'
read -r code rest <codes
echo "$rest" >codes
echo "started" >>starts
[[ $code == 9 ]] && kill -KILL $$
exit "$code"
END
rm -f starts
)";
  struct Case {
    std::string codes;
    int code;
    int starts;
  };
  for (const Case& c : {Case{"0", 0, 1}, Case{"3 9 3 0 0", 0, 4}, Case{"9 1 0", 1, 2},
                        Case{"2 0", 2, 1}, Case{"3 4 0", 4, 2}}) {
    INFO(c.codes);
    CHECK(bash(folder.path(),
               fake + "echo " + c.codes + " >codes\n$scripts/restart.sh bash fake.sh\n") == c.code);
    std::string starts;
    for (int i = 0; i < c.starts; ++i) starts += "started\n";
    CHECK(file_content(folder.path() / "starts") == starts);
  }
  CHECK(bash(folder.path(), "$scripts/restart.sh\n") == 2);
}

TEST_CASE("restart: a stop reaches the command once, and no start follows") {
  const TempFolder folder;
  const std::string script = R"(
cat >fake.sh <<'END'
trap 'echo told >>told' TERM
echo started >>starts
while [[ ! -e told ]]; do sleep 0.05; done
exit 3
END
$scripts/restart.sh bash fake.sh &
while [[ ! -e starts ]]; do sleep 0.05; done
sleep 0.2
kill -TERM $!
wait $!
)";

  CHECK(bash(folder.path(), script) == 3);

  CHECK(file_content(folder.path() / "starts") == "started\n");
  CHECK(file_content(folder.path() / "told") == "told\n");
  CHECK_THAT(file_content(folder.path() / "said"), Contains("TERM received"));
}

TEST_CASE("restart: a run that is killed goes on, one that is killed at one step comes to an end") {
  const TinyRuns runs;
  const TinyRuns::Overrides overrides{"train.steps=12", "checkpoint.every=4"};
  runs.must_train("straight", overrides);
  // Killed when the file that it waits for is there, twice or for ever.
  const std::string killer = R"(
cat >killer.sh <<'END'
echo started >>starts
if (( $(wc -l <starts) > times )); then exec "$@"; fi
rm -f doomed/metrics.jsonl
"$@" & pid=$!
until [[ -e $(eval echo "$awaited") ]] || ! kill -0 $pid; do sleep 0.01; done
kill -KILL $pid; wait $pid
END
rm -f starts
)";
  const auto loop = [&](const std::string& run, const std::string& times,
                        const std::string& awaited, const TinyRuns::Overrides& set) {
    return bash(runs.path(), killer + "export times=" + times + " awaited='" + awaited + "'\n" +
                                 "$scripts/restart.sh bash killer.sh " WAM_PROGRAM +
                                 quoted(runs.arguments("train", run, set)) + "\n");
  };

  // At the first start after step 4, at the second after step 8.
  CHECK(loop("killed", "2", "killed/checkpoints/step_0000000$((4 * $(wc -l <starts)))",
             overrides) == 0);
  CHECK_THAT(file_content(runs.path() / "said"),
             Contains("exit code 137: starting again") &&
                 Contains("resuming from killed/checkpoints/step_00000008"));
  CHECK(runs.losses("killed") == runs.losses("straight"));
  CHECK((runs.state("killed", 12) == runs.state("straight", 12)));

  CHECK(loop("doomed", "9", "doomed/metrics.jsonl",
             {"train.steps=400", "checkpoint.every=0", "run.max_crashes=2"}) == 1);
  CHECK_THAT(file_content(runs.path() / "said"),
             Contains("the run crashed 2 times in a row after starting from step 0") &&
                 Contains("exit code 1: not started again"));
}
