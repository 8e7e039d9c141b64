#include "apps/wamtrain/commands.h"
#include "apps/wamtrain/exit_code.h"
#include "core/base/errors.h"
#include "core/base/names.h"
#include "data/sample_world/sample_world.h"

namespace wam {

int sample_command(const SampleArguments& arguments) {
  using lerobot_writer::PictureLayout;
  using lerobot_writer::Version;
  const auto layout = parse_name<PictureLayout>(arguments.pictures);
  require<ConfigError>(layout.has_value(),
                       "sample --pictures: found {}, expected one of {}. Fix: write one of them.",
                       arguments.pictures, join(all_names<PictureLayout>()));
  const auto version = parse_name<Version>(arguments.layout);
  require<ConfigError>(version.has_value(),
                       "sample --layout: found {}, expected one of {}. Fix: write one of them.",
                       arguments.layout, join(all_names<Version>()));
  SampleWorldOptions options;
  options.version = *version;
  options.path = arguments.out;
  options.layout = *layout;
  options.episodes = arguments.episodes;
  options.seed = arguments.seed;
  Log log({});
  write_sample_world(options, log);
  return kExitOk;
}

}  // namespace wam
