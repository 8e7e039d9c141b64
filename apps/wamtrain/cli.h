#pragma once

namespace wam {

// Parses the command line and runs the subcommand. Errors: ConfigError for an unknown subcommand or
// flag (with the nearest one) or a missing argument; and whatever the subcommand throws.
int run_command_line(int argc, char** argv);

}  // namespace wam
